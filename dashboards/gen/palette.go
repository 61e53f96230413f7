package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// Colors of what things mean. Good and bad are Grafana's own words, which suit its light and dark themes.
const (
	good     = "green"
	doubtful = "orange"
	bad      = "red"
	plain    = "text"
)

// byOutcome colors series that are called like outcomes.
func byOutcome() []grafana.Color {
	return []grafana.Color{
		{Series: throttle.Accepted.String(), Color: good},
		{Series: throttle.Rejected.String(), Color: bad},
		{Series: throttle.Shed.String(), Color: doubtful},
		{Series: throttle.Ignored.String(), Color: plain},
	}
}

// byPriority colors series that are called like priorities. A dashed one, with a word behind, is what would have been.
func byPriority(dashed ...string) []grafana.Color {
	colors := []string{throttle.High: "#3d8bdb", throttle.Important: "#e0901f", throttle.Medium: "#1fa37a", throttle.Low: "#c4609b"}
	var all []grafana.Color
	for p, color := range colors {
		word := throttle.Priority(p).String()
		all = append(all, grafana.Color{Series: word, Color: color})
		for _, what := range dashed {
			all = append(all, grafana.Color{Series: word + what, Color: color, Dashed: true})
		}
	}
	return all
}

// byFault colors the kinds of faults that count as rejections.
func byFault() []grafana.Color {
	return []grafana.Color{
		{Series: throttle.FaultAvailability.String(), Color: bad},
		{Series: throttle.FaultTimeout.String(), Color: doubtful},
		{Series: throttle.FaultQuota.String(), Color: "purple"},
	}
}

// byState colors series that are called like states of circuits. A dashed one, with a word behind, is what would have been.
func byState(dashed ...string) []grafana.Color {
	colors := []string{breaker.Closed: good, breaker.Open: doubtful, breaker.HalfOpen: "blue", breaker.Disabled: bad}
	var all []grafana.Color
	for s, color := range colors {
		word := breaker.State(s).String()
		all = append(all, grafana.Color{Series: word, Color: color})
		for _, what := range dashed {
			all = append(all, grafana.Color{Series: word + what, Color: color, Dashed: true})
		}
	}
	return all
}

// byResult colors series that are called like what came of requests for tokens.
func byResult() []grafana.Color {
	return []grafana.Color{
		{Series: otelthrottle.ResultGranted, Color: good},
		{Series: otelthrottle.ResultDenied, Color: doubtful},
		{Series: otelthrottle.ResultFailedOpen, Color: "purple"},
		{Series: otelthrottle.ResultFailedClosed, Color: bad},
	}
}

// from makes thresholds: good, then worse, then bad.
func from(worse, worst float64) []grafana.Step {
	return []grafana.Step{{Color: good}, {From: worse, Color: doubtful}, {From: worst, Color: bad}}
}
