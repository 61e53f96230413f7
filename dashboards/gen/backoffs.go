package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/backoff"
)

func backoffs() grafana.Dashboard {
	d := newBoard(backoffsUID, "Backoffs", "How far workers back off from services that throttle them, and how many calls wait.")
	d.Variables = theBackoff().variables(backoffCalls(), "backoffs",
		"Each has a delay of its own. ", "A service that workers back off from.")
	d.Annotations = []grafana.Annotation{changesOf("backoff", "backoff", "Delay by backoff")}
	d.Rows = []grafana.Row{
		{Height: 4, Panels: backoffSummary()},
		{Title: "Backoffs and alerts, worst first", Height: 5, Panels: []grafana.Panel{backoffsTable()}},
		{Height: 6, Panels: []grafana.Panel{alertsTable(backoffScope(), "Backoff")}},
		{Title: "Backoff", Height: 10, Panels: backoffPanels()},
		{Title: "Waiting and instances", Height: 10, Collapsed: true, Panels: backoffInstancePanels()},
	}
	return d
}

// backoffSummary returns the panels with single numbers at the top. Each is that of the worst
// backoff.
func backoffSummary() []grafana.Panel {
	return []grafana.Panel{
		alertsStat(backoffScope(), 5),
		named(theBackoff(), grafana.Panel{
			Title: "Throttled", Width: 5, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no calls", Steps: thresholds(0.05, 0.5),
			Description: "The share of the calls that the service throttled, of the backoff and process with the highest. A few percent " +
				"are normal: that is how the limit is found. Above 50 % an alert warns.",
		}, worst(throttledShare(theBackoff().byProcess()...))),
		named(theBackoff(), grafana.Panel{
			Title: "Longest delay", Width: 5, Unit: "s", NoValue: "no backoff",
			Description: "The longest delay of any process. At its maximum, MaxInterval, the service refuses calls at any rate.",
		}, worst(highest(backoffDelay().ofBackoff(), theBackoff().by()...))),
		named(theBackoff(), grafana.Panel{
			Title: "Waiting", Width: 5, Unit: "short", NoValue: "no backoff",
			Description: "Calls that wait for their turn, of the backoff with the most. In a batch job, as many as there are workers is normal.",
		}, worst(sum(backoffWaiting().ofBackoff(), theBackoff().by()...))),
		{
			Title: "Calls", Width: 4, Unit: "reqps", NoValue: "no backoff", View: grafana.Stat{},
			Description: "Calls of all selected backoffs that have ended, with any outcome. Few calls with a long delay are the backoff at work.",
			Targets:     []grafana.Target{{Expr: sum(rate(backoffCalls().ofBackoff())), Legend: "calls"}},
		},
	}
}

func backoffsTable() grafana.Panel {
	by := theBackoff().by()
	return table("Backoffs", "no backoff", "Each backoff of each job. Choose a name to select only that backoff. Delay is the longest of "+
		"any process. A backoff without calls has no share.",
		[]grafana.Sort{{Title: "Throttled"}, {Title: "Delay"}},
		grafana.Column{Field: backoffName(), Title: "Backoff", Links: []grafana.Link{theBackoff().link(backoffsUID, "Only this backoff")}},
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
	return quantileOf(q, sleepDuration().ofBackoff())
}

func backoffPanels() []grafana.Panel {
	by := theBackoff().by()
	name := theBackoff().legend()
	return []grafana.Panel{
		graph(highest(backoffDelay().ofBackoff(), by...), name, grafana.Panel{
			Title: "Delay by backoff", Width: 12, Unit: "s", NoValue: "no backoff",
			Description: "The highest delay of any process. In the mode Pace it is the gap between two calls of " +
				"a process; in Sleep the time that each worker sleeps. A saw of large steps up and small steps " +
				"down means that the limit is found. A flat line at the top means that it is not: the service " +
				"refuses calls at any rate.",
		}),
		graph(throttledShare(by...), name, grafana.Panel{
			Title: "Throttled share by backoff", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no calls", Steps: thresholds(0.05, 0.5),
			View: grafana.Graph{Thresholds: true},
			Description: "The share of the calls that the service throttled. A few percent are normal: that is " +
				"how the limit is found. Above the upper line the alert begins. With a long delay calls are " +
				"rare, and the line has gaps.",
		}),
		graph(sum(rate(backoffSteps().ofBackoff()), direction()), legend(direction()), grafana.Panel{
			Title: "Delay steps per second", Width: 12, Unit: stepRate, NoValue: "no backoff",
			Colors: []grafana.Color{{Series: semconv.DirectionUp, Color: warn}, {Series: semconv.DirectionDown, Color: good}},
			Description: "Changes of the delay per second. Calls that are throttled together make one step up, " +
				"and many small steps lead down again. So a few up and more down is a balance. Up without down " +
				"means that the service serves no call.",
		}),
		{
			Title: "Waiting time", Width: 12, Unit: "s", NoValue: "no durations", Colors: byQuantile(),
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

func backoffInstancePanels() []grafana.Panel {
	by := ofJob("instance")
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		graph(sum(backoffWaiting().ofBackoff(), theBackoff().by()...), theBackoff().legend(), grafana.Panel{
			Title: "Waiting by backoff", Width: 12, Unit: "short", NoValue: "no backoff",
			Description: "Calls that wait for their turn. In a batch job, as many as there are workers is " +
				"normal: the service is the limit. If calls keep arriving and this only grows, there are more " +
				"calls than the service can serve.",
		}),
		graph(highest(backoffDelay().ofBackoff(), by...), name, grafana.Panel{
			Title: "Delay by instance", Width: 12, Unit: "s", NoValue: "no backoff",
			Description: "The highest delay of each process. Each process finds its own, and together they find " +
				"the capacity of the service. Within a factor of two or three of each other is normal. If one " +
				"is far above the others, check its credentials and the calls it makes.",
		}),
		graph(throttledShare(by...), name, grafana.Panel{
			Title: "Throttled share by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no calls", Steps: thresholds(0.05, 0.5), View: grafana.Graph{Thresholds: true},
			Description: "The share of its calls that each process had throttled. If all are alike, the cause " +
				"is the service. If one differs, check that process, its calls and its credentials.",
		}),
	}
}
