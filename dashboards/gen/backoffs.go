package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/backoff"
)

func backoffs() grafana.Dashboard {
	return newBoard(backoffsUID, "Backoffs",
		theBackoff().variables(backoffCalls(), "backoffs", "Each has a delay of its own. ", "A service that workers back off from."),
		[]grafana.Annotation{theBackoff().changes("Delay by backoff")},
		grafana.Row{Height: 4, Panels: backoffSummary()},
		grafana.Row{Title: "Backoffs and alerts, worst first", Height: 5, Panels: []grafana.Panel{backoffsTable()}},
		grafana.Row{Height: 6, Panels: []grafana.Panel{alertsTable(theBackoff().scope())}},
		grafana.Row{Title: "Backoff", Height: 10, Panels: backoffPanels()},
		grafana.Row{Title: "Waiting and instances", Height: 10, Collapsed: true, Panels: backoffInstancePanels()})
}

// backoffSummary returns the panels with single numbers at the top. Each is that of the worst
// backoff.
func backoffSummary() []grafana.Panel {
	return []grafana.Panel{
		alertsStat(theBackoff().scope(), 5),
		theBackoff().stat(worst(throttledShare(theBackoff().byProcess()...)), ratioPanel("Throttled", 5, "no calls"), thresholds(0.05, 0.5)),
		theBackoff().stat(worst(highest(backoffDelay().ofBackoff(), theBackoff().by()...)), panelOf("Longest delay", 5, "s", "no backoff"), nil),
		theBackoff().stat(worst(sum(backoffWaiting().ofBackoff(), theBackoff().by()...)), panelOf("Waiting", 5, "short", "no backoff"), nil),
		{
			Title: "Calls", Width: 4, Unit: "reqps", NoValue: "no backoff", View: grafana.Stat{},
			Targets: []grafana.Target{{Expr: sum(rate(backoffCalls().ofBackoff())), Legend: "calls"}},
		},
	}
}

func backoffsTable() grafana.Panel {
	by := theBackoff().by()
	return table("Backoffs", "no backoff", []grafana.Sort{{Title: "Throttled"}, {Title: "Delay"}},
		theBackoff().column(theBackoff().alone()),
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Expr: sum(rate(backoffCalls().ofBackoff()), by...), Title: "Calls", Unit: "reqps", Width: 110},
		grafana.Column{Expr: throttledShare(by...), Title: "Throttled", Unit: "percentunit", Width: 100, Steps: thresholds(0.05, 0.5)},
		grafana.Column{Expr: highest(backoffDelay().ofBackoff(), by...), Title: "Delay", Unit: "s", Width: 100},
		grafana.Column{Expr: sum(backoffWaiting().ofBackoff(), by...), Title: "Waiting", Unit: "short", Width: 90})
}

// throttledShare returns the share of calls that the service throttled. Ignored calls are left out.
func throttledShare(by ...string) string {
	return share(sum(rate(backoffCalls().ofBackoff(withOutcome(backoff.Throttled))), by...),
		sum(rate(backoffCalls().ofBackoff(withOutcome(backoff.Throttled, backoff.Success))), by...))
}

func sleepQuantile(q float64) string {
	return quantileOf(q, metricOf(semconv.MetricBackoffSleepDuration, "_seconds_bucket").ofBackoff())
}

func backoffPanels() []grafana.Panel {
	by := theBackoff().by()
	name := theBackoff().legend()
	return []grafana.Panel{
		graph(highest(backoffDelay().ofBackoff(), by...), name, panelOf("Delay by backoff", 12, "s", "no backoff")),
		graph(throttledShare(by...), name,
			limited(ratioPanel("Throttled share by backoff", 12, "no calls"), thresholds(0.05, 0.5))),
		graph(sum(rate(metricOf(semconv.MetricBackoffSteps, "_total").ofBackoff()), direction()), legend(direction()), grafana.Panel{
			Title: "Delay steps per second", Width: 12, Unit: stepRate, NoValue: "no backoff",
			Colors: []grafana.Color{{Series: semconv.DirectionUp, Color: warn}, {Series: semconv.DirectionDown, Color: good}},
		}),
		durations("Waiting time", 12, "no durations", sleepQuantile, 0.99, 0.5),
	}
}

func backoffInstancePanels() []grafana.Panel {
	by := ofJob("instance")
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		graph(sum(backoffWaiting().ofBackoff(), theBackoff().by()...), theBackoff().legend(),
			panelOf("Waiting by backoff", 12, "short", "no backoff")),
		graph(highest(backoffDelay().ofBackoff(), by...), name, panelOf("Delay by instance", 12, "s", "no backoff")),
		graph(throttledShare(by...), name,
			limited(ratioPanel("Throttled share by instance", 12, "no calls"), thresholds(0.05, 0.5))),
	}
}
