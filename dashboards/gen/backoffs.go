package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// throttledShare returns the share of calls that the service throttled. Ignored calls are left out.
func throttledShare(by ...string) string {
	return share(sum(rate(backoffCalls().ofBackoff(withOutcome(backoff.Throttled))), by...),
		sum(rate(backoffCalls().ofBackoff(withOutcome(backoff.Throttled, backoff.Success))), by...))
}

// sleepQuantile returns a quantile of how long calls waited.
func sleepQuantile(q float64) string {
	return fmt.Sprintf("histogram_quantile(%v, %s)", q, sum(rate(sleepDuration().ofBackoff()), "le"))
}

// backoffPanels returns the panels about delays, throttled calls and waiting times.
func backoffPanels() []grafana.Panel {
	by := []string{"job", backoffName()}
	name := "{{job}} " + legend(backoffName())
	return []grafana.Panel{
		{
			Title: "Delay by backoff", Width: 12, Unit: "s", NoValue: "no backoff", View: grafana.Graph{},
			Description: "The highest delay of any process. In the mode Pace it is the gap between two calls of " +
				"a process; in Sleep the time that each worker sleeps. A saw of large steps up and small steps " +
				"down means that the limit is found. A flat line at the top means that it is not: the service " +
				"refuses calls at any rate.",
			Targets: []grafana.Target{{Expr: highest(backoffDelay().ofBackoff(), by...), Legend: name}},
		},
		{
			Title: "Throttled share by backoff", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no calls", Steps: thresholds(0.05, 0.5),
			View: grafana.Graph{Thresholds: true},
			Description: "The share of the calls that the service throttled. A few percent are normal: that is " +
				"how the limit is found. Above the upper line the alert begins. With a long delay calls are " +
				"rare, and the line has gaps.",
			Targets: []grafana.Target{{Expr: throttledShare(by...), Legend: name}},
		},
		{
			Title: "Delay steps per second", Width: 12, Unit: "short", NoValue: "no backoff", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: otelthrottle.DirectionUp, Color: warn}, {Series: otelthrottle.DirectionDown, Color: good}},
			Description: "Changes of the delay per second. Calls that are throttled together make one step up, " +
				"and many small steps lead down again. So a few up and more down is a balance. Up without down " +
				"means that the service serves no call.",
			Targets: []grafana.Target{{Expr: sum(rate(backoffSteps().ofBackoff()), direction()), Legend: legend(direction())}},
		},
		{
			Title: "Waiting time", Width: 12, Unit: "s", NoValue: "no waits, or no durations", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p99", Color: bad}},
			Description: "Quantiles of the time that calls waited, until their turn or until they gave up. In " +
				"the mode Pace it is the time in the queue: the delay times the calls ahead. The dots are waits " +
				"with a trace. If it is too long for the work, use fewer workers: the throughput stays the same.",
			Targets: []grafana.Target{
				{Expr: sleepQuantile(0.99), Legend: "p99", Exemplars: true},
				{Expr: sleepQuantile(0.5), Legend: "p50"},
			},
		},
	}
}

// backoffInstancePanels returns the panels about waiting calls, and about single processes.
func backoffInstancePanels() []grafana.Panel {
	by := []string{"job", "instance"}
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		{
			Title: "Waiting by backoff", Width: 8, Unit: "short", NoValue: "no backoff", View: grafana.Graph{},
			Description: "Calls that wait for their turn. In a batch job, as many as there are workers is " +
				"normal: the service is the limit. If calls keep arriving and this only grows, there are more " +
				"calls than the service can serve.",
			Targets: []grafana.Target{{Expr: sum(backoffWaiting().ofBackoff(), "job", backoffName()), Legend: "{{job}} " + legend(backoffName())}},
		},
		{
			Title: "Delay by instance", Width: 8, Unit: "s", NoValue: "no backoff", View: grafana.Graph{},
			Description: "The highest delay of each process. Each process finds its own, and together they find " +
				"the capacity of the service. Within a factor of two or three of each other is normal. If one " +
				"is far above the others, check its credentials and the calls it makes.",
			Targets: []grafana.Target{{Expr: highest(backoffDelay().ofBackoff(), by...), Legend: name}},
		},
		{
			Title: "Throttled share by instance", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no calls", Steps: thresholds(0.05, 0.5), View: grafana.Graph{Thresholds: true},
			Description: "The share of its calls that each process had throttled. If all are alike, the cause " +
				"is the service. If one differs, check that process, its calls and its credentials.",
			Targets: []grafana.Target{{Expr: throttledShare(by...), Legend: name}},
		},
	}
}
