package main

import (
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakers returns the dashboard of circuits that are not closed, the calls they shed, and the
// fleet that decides.
func breakers() grafana.Dashboard {
	marked := []string{"Shed share by breaker", "Circuits by state"}
	return newBoard(breakersUID, "Breakers",
		theBreaker().variables(leader(), "breakers", "Each reports the circuits of the whole fleet. ", "One breaker has a circuit for each endpoint."),
		[]grafana.Annotation{beginnings(breakerScope(), marked...), theBreaker().changes(marked...)},
		grafana.Row{Height: 4, Panels: breakerSummary()},
		grafana.Row{Title: "Breakers and alerts, worst first", Height: 5, Panels: []grafana.Panel{breakersTable()}},
		grafana.Row{Height: 7, Panels: []grafana.Panel{alertsTable(breakerScope())}},
		grafana.Row{Title: "Calls", Height: 10, Panels: breakerCallPanels()},
		grafana.Row{Title: "Circuits", Height: 10, Panels: circuitPanels()},
		grafana.Row{Title: "Circuit list", Height: 8, Panels: []grafana.Panel{circuitsTable()}},
		grafana.Row{Title: "Fleet", Height: 12, Collapsed: true, Panels: fleetPanels()})
}

// circuitsIn returns the number of circuits in a state, by breaker. Each instance reports all
// circuits of its fleet, so it is the maximum over instances.
func circuitsIn(s breaker.State) string {
	return highest(circuits().ofBreaker(inState(s)), theBreaker().by()...)
}

// leaders returns the number of leading processes, by breaker.
func leaders() string { return sum(leader().ofBreaker(), theBreaker().by()...) }

func breakerShedShare(by ...string) string {
	return share(sum(rate(breakerCalls().ofBreaker(isShed())), by...), sum(rate(breakerCalls().ofBreaker()), by...))
}

// disabledLastHour returns how many circuits became disabled within an hour. An increase is
// extrapolated, so it is rounded.
func disabledLastHour() string {
	return "round(" + sum("increase("+transitions().ofBreaker(inState(breaker.Disabled))+"[1h])", theBreaker().by()...) + ")"
}

// never is the age of a snapshot that was never read, in seconds.
const never = 1e9

// neverRead is what is shown for it.
func neverRead() []grafana.Mapping {
	return []grafana.Mapping{{From: never / 10, Text: "never read", Color: bad}}
}

// oldestSnapshot returns the age of the oldest snapshot. A process that takes part and has none has
// never read the store.
func oldestSnapshot(by ...string) string {
	age := snapshotAge().ofBreaker()
	return highest(fmt.Sprintf("%s or %v + 0 * (%s unless on (cluster, namespace, job, instance, %s) %s)", age, never, leader().ofBreaker(), breakerName(), age), by...)
}

// breakerSummary returns the panels with single numbers at the top. Each is that of the worst
// breaker.
func breakerSummary() []grafana.Panel {
	of := theBreaker()
	age := of.stat(worst(oldestSnapshot(of.by()...)), panelOf("Snapshot age", 4, "s", "no breaker"), thresholds(30, 60))
	age.Mappings = neverRead()
	return []grafana.Panel{
		alertsStat(breakerScope(), 4),
		of.stat(worst(circuitsIn(breaker.Disabled)), panelOf("Disabled", 3, "short", "no breaker"), from(1, bad)),
		of.stat(worst(disabledLastHour()), panelOf("Disabled, 1 h", 4, "short", "no breaker"), from(1, warn)),
		of.stat(worst(circuitsIn(breaker.Open)), panelOf("Open", 3, "short", "no breaker"), from(1, warn)),
		of.stat(worst(breakerShedShare(of.byProcess()...)), ratioPanel("Shed", 3, "no traffic"), thresholds(0.1, 0.5)),
		of.stat(lowest(leaders()), panelOf("Leaders", 3, "short", "no breaker"), []grafana.Step{{Color: bad}, {From: 1, Color: good}}),
		age,
	}
}

func breakersTable() grafana.Panel {
	by := theBreaker().by()
	return table("Breakers", "no breaker", []grafana.Sort{{Title: "Disabled"}, {Title: "Shed"}},
		theBreaker().column(theBreaker().alone()),
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Expr: circuitsIn(breaker.Disabled), Title: "Disabled", Unit: "short", Width: 90},
		grafana.Column{Expr: circuitsIn(breaker.Open), Title: "Open", Unit: "short", Width: 80},
		grafana.Column{Expr: sum(rate(breakerCalls().ofBreaker()), by...), Title: "Calls", Unit: "reqps", Width: 110},
		grafana.Column{Expr: breakerShedShare(by...), Title: "Shed", Unit: "percentunit", Width: 90, Steps: thresholds(0.1, 0.5)},
		grafana.Column{Expr: leaders(), Title: "Leaders", Unit: "short", Width: 90, Steps: []grafana.Step{{Color: bad}, {From: 1, Color: good}}},
		grafana.Column{
			Expr: oldestSnapshot(by...), Title: "Snapshot age", Unit: "s", Width: 120, Words: neverRead(), Steps: thresholds(30, 60),
		})
}

func breakerCallPanels() []grafana.Panel {
	return []grafana.Panel{
		graph(sum(rate(breakerCalls().ofBreaker(isSent())), state()), legend(state()), grafana.Panel{
			Title: "Sent by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
		}),
		{
			Title: "Shed by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(shadowSuffix),
			View: grafana.Graph{Short: true},
			Targets: []grafana.Target{
				{Expr: sum(rate(breakerCalls().ofBreaker(isShed())), state()), Legend: legend(state())},
				{Expr: sum(rate(breakerCalls().ofBreaker(isShadow())), state()) + " > 0", Legend: legend(state()) + shadowSuffix},
			},
		},
		graph(breakerShedShare(theBreaker().by()...), theBreaker().legend(),
			limited(ratioPanel("Shed share by breaker", 8, "no traffic"), thresholds(0.1, 0.5))),
	}
}

func circuitPanels() []grafana.Panel {
	most := "max_over_time(" + circuits().ofBreaker(differs(state(), breaker.Closed.String())) + "[$__rate_interval])"
	return []grafana.Panel{
		graph(sum(highest(most, ofJob(breakerName(), state())...), state()), legend(state()), grafana.Panel{
			Title: "Circuits by state", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
		}),
		graph("60 * "+sum(rate(transitions().ofBreaker()), state()), legend(state()), grafana.Panel{
			Title: "State changes per minute", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(),
		}),
	}
}

func fleetPanels() []grafana.Panel {
	by := theBreaker().byProcess()
	name := "{{job}} {{instance}} " + legend(breakerName())
	return []grafana.Panel{
		graph(sum(leader().ofBreaker(), by...)+" > 0", name, panelOf("Leader by instance", 12, "short", "no breaker")),
		graph(highest(snapshotAge().ofBreaker(), by...), name,
			limited(panelOf("Snapshot age by instance", 12, "s", "never read"), thresholds(30, 60))),
		graph("60 * "+sum(rate(metricOf(semconv.MetricBreakerFailures, "_total").ofBreaker()), failure())+" > 0", legend(failure()), grafana.Panel{
			Title: "Failures per minute by kind", Width: 12, Unit: "short", NoValue: "no failures", Colors: byFailure(),
			View: grafana.Graph{Short: true},
		}),
	}
}

// stateWords are the states of circuits that are not closed, with their colors.
func stateWords() []grafana.Mapping {
	var words []grafana.Mapping
	for _, c := range byState()[1:] {
		words = append(words, grafana.Mapping{Value: c.Series, Text: c.Series, Color: c.Color})
	}
	return words
}

// circuitList returns the circuits that are not closed, and a series for each breaker that has some and lists none.
func circuitList() string {
	by := theBreaker().by()
	unlisted := sum(circuits().ofBreaker(differs(state(), breaker.Closed.String())), by...) + " > 0 unless on (" + strings.Join(by, ", ") + ") " +
		circuit().ofBreaker()
	return highest(circuit().ofBreaker(), append(theBreaker().by(), tenant(), key(), state())...) + " or " +
		labelReplace(unlisted, key(), "not listed without otelthrottle.WithBreakerDetail", "", "")
}

func circuitsTable() grafana.Panel {
	return table("Circuits that are not closed", "none", []grafana.Sort{{Title: "State", Ascending: true}},
		grafana.Column{Field: state(), Title: "State", Width: 100, Words: stateWords()},
		grafana.Column{Field: tenant(), Title: "Tenant", Width: 140},
		grafana.Column{Field: key(), Title: "Key", Width: 560},
		theBreaker().column(theBreaker().alone()),
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Expr: circuitList(), Title: "Value", Hidden: true})
}
