package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// quantile returns a quantile of the durations, in a series per value of the labels.
func quantile(q float64, conditions []matcher, by ...string) string {
	return fmt.Sprintf("histogram_quantile(%v, %s)", q, sum(rate(duration().chosen(conditions...)), append([]string{"le"}, by...)...))
}

// latencyPanels tell of the calls that were admitted: how long they took, how many there are, and what replaced them.
func latencyPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Call duration", Width: 12, Unit: "s", NoValue: "no durations", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p95", Color: doubtful}, {Series: "p99", Color: bad}},
			Description: "Quantiles of the duration of all admitted calls. The dots are exemplars: choose one " +
				"to open its trace. A backend becomes slow before it rejects calls, so look for the cause when " +
				"p99 climbs.",
			Targets: []grafana.Target{
				{Expr: quantile(0.99, nil), Legend: "p99", Exemplars: true},
				{Expr: quantile(0.95, nil), Legend: "p95"},
				{Expr: quantile(0.5, nil), Legend: "p50"},
			},
		},
		{
			Title: "p99 of accepted calls by priority", Width: 12, Unit: "s", NoValue: "no durations", Colors: byPriority(), View: grafana.Graph{},
			Description: "The p99 of the calls that the backend accepted. Priorities that differ call different " +
				"parts of the backend, or the backend treats them differently.",
			Targets: []grafana.Target{{Expr: quantile(0.99, []matcher{isAccepted()}, priority()), Legend: legend(priority())}},
		},
		{
			Title: "In flight by priority", Width: 12, Unit: "short", NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "Admitted calls that have not ended: the rate times the latency. A climb at a steady " +
				"rate means that the backend becomes slower.",
			Targets: []grafana.Target{{Expr: sum(active().chosen(), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Fallbacks", Width: 12, Unit: "reqps", NoValue: "no fallbacks", View: grafana.Graph{},
			Description: "Fallbacks by the outcome of the call that they replaced. Most should replace shed " +
				"calls. Fallbacks that failed have a line of their own with the error type: their callers got " +
				"an error.",
			Targets: []grafana.Target{
				{Expr: sum(rate(fallbacks().chosen(is(errorType(), ""))), outcome()), Legend: legend(outcome()) + ", served"},
				{
					Expr:   sum(rate(fallbacks().chosen(isNot(errorType(), ""))), outcome(), errorType()),
					Legend: legend(outcome()) + ", failed with " + legend(errorType()),
				},
			},
		},
	}
}
