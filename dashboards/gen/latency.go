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
			Title: "How long calls took", Width: 12, Unit: "s", NoValue: "no durations", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p95", Color: doubtful}, {Series: "p99", Color: bad}},
			Description: "Quantiles of all admitted calls, however they ended. The dots are calls with a trace: choose one to see it. " +
				"A backend is slow before it says no: if p99 climbs, look before anything is shed.",
			Targets: []grafana.Target{
				{Expr: quantile(0.99, nil), Legend: "p99", Exemplars: true},
				{Expr: quantile(0.95, nil), Legend: "p95"},
				{Expr: quantile(0.5, nil), Legend: "p50"},
			},
		},
		{
			Title: "p99 of accepted calls, by priority", Width: 12, Unit: "s", NoValue: "no durations", Colors: byPriority(), View: grafana.Graph{},
			Description: "How long the slowest hundredth of the calls took that the backend accepted. Priorities that differ go to different work, " +
				"or the backend knows them.",
			Targets: []grafana.Target{{Expr: quantile(0.99, []matcher{isAccepted()}, priority()), Legend: legend(priority())}},
		},
		{
			Title: "In flight, by priority", Width: 12, Unit: "short", NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "Admitted calls that have not ended yet: the rate times the latency. A climb at a steady rate is a backend that slows down.",
			Targets:     []grafana.Target{{Expr: sum(active().chosen(), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Fallbacks", Width: 12, Unit: "reqps", NoValue: "no fallbacks", View: grafana.Graph{},
			Description: "Fallbacks by the outcome of the call that they replaced. Most should be of shed calls. A fallback that fails, and " +
				"with what, is drawn apart: its caller got an error after all.",
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
