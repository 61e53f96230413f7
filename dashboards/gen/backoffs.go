package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// throttledShare returns how many of the calls that said something about the rate were throttled.
func throttledShare(by ...string) string {
	return share(sum(rate(backoffCalls().ofBackoff(said(backoff.Throttled))), by...),
		sum(rate(backoffCalls().ofBackoff(said(backoff.Throttled, backoff.Success))), by...))
}

// sleepQuantile returns a quantile of how long those waited who had to.
func sleepQuantile(q float64) string {
	return fmt.Sprintf("histogram_quantile(%v, %s)", q, sum(rate(sleepDuration().ofBackoff()), "le"))
}

// backoffPanels tell how far workers hold themselves back, and whether that helps.
func backoffPanels() []grafana.Panel {
	by := []string{"job", backoffName()}
	name := "{{job}} " + legend(backoffName())
	return []grafana.Panel{
		{
			Title: "Delay, by backoff", Width: 12, Unit: "s", NoValue: "no backoff", View: grafana.Graph{},
			Description: "How far each backoff holds its workers back: in the mode Pace the gap between two calls of all workers of a process, in Sleep what each of " +
				"them sleeps. Of all processes the highest. Up in leaps and down gently, like a saw, is a limit that is found. A line that lies flat at the top is " +
				"one that is not: the service refuses whatever comes.",
			Targets: []grafana.Target{{Expr: highest(backoffDelay().ofBackoff(), by...), Legend: name}},
		},
		{
			Title: "Throttled, of what was called", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no calls", Steps: from(0.05, 0.5),
			View: grafana.Graph{Thresholds: true},
			Description: "The share of the calls that the service throttled. A few in a hundred are how the limit is found, and should be all. Above the upper line " +
				"the alert begins. With a long delay calls are rare, and there are gaps.",
			Targets: []grafana.Target{{Expr: throttledShare(by...), Legend: name}},
		},
		{
			Title: "Steps up and down", Width: 12, Unit: "short", NoValue: "no backoff", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: otelthrottle.DirectionUp, Color: doubtful}, {Series: otelthrottle.DirectionDown, Color: good}},
			Description: "Steps of the delay a second. All calls that are throttled together make one step up, and it takes many small ones to come down " +
				"again: some up and more down is balance. Up without down, on and on, is a service that serves nobody.",
			Targets: []grafana.Target{{Expr: sum(rate(backoffSteps().ofBackoff()), direction()), Legend: legend(direction())}},
		},
		{
			Title: "How long calls waited", Width: 12, Unit: "s", NoValue: "nobody waited, or no durations", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p99", Color: bad}},
			Description: "Quantiles of how long those waited who had to, until their turn came or they gave up. In the mode Pace this is the time in line: the delay " +
				"times those before. The dots are waits with a trace. Longer than the work may take: fewer workers wait less, and as much is done.",
			Targets: []grafana.Target{
				{Expr: sleepQuantile(0.99), Legend: "p99", Exemplars: true},
				{Expr: sleepQuantile(0.5), Legend: "p50"},
			},
		},
	}
}

// backoffInstancePanels tell of lines, and processes apart.
func backoffInstancePanels() []grafana.Panel {
	by := []string{"job", "instance"}
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		{
			Title: "Waiting, by backoff", Width: 8, Unit: "short", NoValue: "no backoff", View: grafana.Graph{},
			Description: "Calls that wait for their turn. As many as there are workers means that the service is the limit, as it should be for a batch. Where calls " +
				"keep coming, one that only grows is more than the service will ever do.",
			Targets: []grafana.Target{{Expr: sum(backoffWaiting().ofBackoff(), "job", backoffName()), Legend: "{{job}} " + legend(backoffName())}},
		},
		{
			Title: "Delay, by instance", Width: 8, Unit: "s", NoValue: "no backoff", View: grafana.Graph{},
			Description: "The highest delay of each process. Each finds its own, and together they find what the service bears: alike within a factor of two or three " +
				"is well. One far above its sisters is refused for a reason of its own, such as its credentials.",
			Targets: []grafana.Target{{Expr: highest(backoffDelay().ofBackoff(), by...), Legend: name}},
		},
		{
			Title: "Throttled, by instance", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no calls", Steps: from(0.05, 0.5), View: grafana.Graph{Thresholds: true},
			Description: "The share of its calls that each process had throttled. All alike is the service; one alone is that process, what it calls, or " +
				"as whom.",
			Targets: []grafana.Target{{Expr: throttledShare(by...), Legend: name}},
		},
	}
}
