package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// Colors by meaning. Grafana adapts these names to its light and dark themes.
const (
	good    = "green"
	warn    = "orange"
	bad     = "red"
	neutral = "text"
)

func byOutcome() []grafana.Color {
	return []grafana.Color{
		{Series: throttle.Accepted.String(), Color: good},
		{Series: throttle.Rejected.String(), Color: bad},
		{Series: throttle.Shed.String(), Color: warn},
		{Series: throttle.Ignored.String(), Color: neutral},
		{Series: throttle.FaultCanceled.String(), Color: "purple"},
	}
}

// byPriority returns the colors of series that are named by priorities. A series with one of the
// suffixes is dashed.
func byPriority(suffixes ...string) []grafana.Color {
	return byName(suffixes, throttle.Priority.String,
		[]string{throttle.High: "#3d8bdb", throttle.Important: "#e0901f", throttle.Medium: "#1fa37a", throttle.Low: "#c4609b"})
}

// byName returns the colors of the values of an enumeration, by their names. Values without a color are left out.
func byName[T ~int8 | ~uint8](suffixes []string, name func(T) string, colors []string) []grafana.Color {
	var all []grafana.Color
	for i, color := range colors {
		if color == "" {
			continue
		}
		all = append(all, grafana.Color{Series: name(T(i)), Color: color})
		for _, suffix := range suffixes {
			all = append(all, grafana.Color{Series: name(T(i)) + suffix, Color: color, Dashed: true})
		}
	}
	return all
}

// byFault returns the colors of the kinds of faults that count as rejections.
func byFault() []grafana.Color {
	return []grafana.Color{
		{Series: throttle.FaultAvailability.String(), Color: bad},
		{Series: throttle.FaultTimeout.String(), Color: warn},
		{Series: throttle.FaultQuota.String(), Color: "purple"},
		{Series: throttle.FaultCanceled.String(), Color: "dark-red"},
		{Series: "_OTHER", Color: "dark-orange"},
	}
}

// byState does the same for states of circuits.
func byState(suffixes ...string) []grafana.Color {
	return byName(suffixes, breaker.State.String,
		[]string{breaker.Closed: good, breaker.Open: warn, breaker.HalfOpen: "blue", breaker.Disabled: bad})
}

// byResult returns the colors of series that are named by results of requests for tokens.
func byResult() []grafana.Color {
	return []grafana.Color{
		{Series: semconv.ResultGranted, Color: good},
		{Series: semconv.ResultDenied, Color: warn},
		{Series: semconv.ResultFailedOpen, Color: "purple"},
		{Series: semconv.ResultFailedClosed, Color: bad},
		{Series: semconv.ResultShareGranted, Color: "blue"},
		{Series: semconv.ResultShareDenied, Color: "orange"},
	}
}

// byQuantile returns the colors of quantiles. None is red: p99 is no failure, and exemplars are red.
func byQuantile() []grafana.Color {
	return []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p95", Color: warn}, {Series: "p99", Color: "purple"}}
}

// byFailure returns the colors of failures of breakers in the background.
func byFailure() []grafana.Color {
	colors := []string{"red", "orange", "dark-red", "dark-orange", "purple", "semi-dark-red", "semi-dark-orange"}
	var all []grafana.Color
	for f := range (breaker.ErrorCounts{}).All() {
		all = append(all, grafana.Color{Series: f.String(), Color: colors[len(all)%len(colors)]})
	}
	return all
}

// thresholds returns the steps good, warn and bad.
func thresholds(warnFrom, badFrom float64) []grafana.Step {
	return []grafana.Step{{Color: good}, {From: warnFrom, Color: warn}, {From: badFrom, Color: bad}}
}
