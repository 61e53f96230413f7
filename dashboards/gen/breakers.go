package main

import (
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakers returns the dashboard of circuits that are not closed, the calls they shed, and the
// fleet that decides.
func breakers() grafana.Dashboard {
	d := newBoard(breakersUID, "Breakers", "Which circuits are open, half-open and disabled, which calls "+
		"they shed, and the state of the fleet that decides: its leader, its store and its polls.")
	d.Variables = theBreaker().variables(leader(), "breakers",
		"Each reports the circuits of the whole fleet. ", "One breaker has a circuit for each endpoint.")
	marked := []string{"Shed share by breaker", "Circuits by state"}
	d.Annotations = []grafana.Annotation{beginnings(breakerScope(), marked...), changesOf("breaker", "breaker", marked...)}
	d.Rows = []grafana.Row{
		{Height: 4, Panels: breakerSummary()},
		{Title: "Breakers and alerts, worst first", Height: 5, Panels: []grafana.Panel{breakersTable()}},
		{Height: 7, Panels: []grafana.Panel{alertsTable(breakerScope(), "Breaker")}},
		{Title: "Calls", Height: 10, Panels: breakerCallPanels()},
		{Title: "Circuits", Height: 10, Panels: circuitPanels()},
		{Title: "Circuit list", Height: 8, Panels: []grafana.Panel{circuitsTable()}},
		{Title: "Fleet", Height: 12, Collapsed: true, Panels: fleetPanels()},
	}
	return d
}

// circuitsIn returns the number of circuits in a state, by breaker. Each instance reports all
// circuits of its fleet, so it is the maximum over instances.
func circuitsIn(s breaker.State) string {
	return highest(circuits().ofBreaker(inState(s)), theBreaker().by()...)
}

// leaders returns the number of leading processes, by breaker.
func leaders() string { return sum(leader().ofBreaker(), theBreaker().by()...) }

// breakerShedShare returns the share of the calls that breakers shed.
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
	stat := func(title string, width int, unit, expr string, steps []grafana.Step, description string) grafana.Panel {
		return named(theBreaker(), grafana.Panel{
			Title: title, Width: width, Unit: unit, NoValue: "no breaker", Steps: steps, Description: description,
		}, expr)
	}
	shed := stat("Shed", 3, "percentunit", worst(breakerShedShare(theBreaker().byProcess()...)), thresholds(0.1, 0.5),
		"The share of its calls that the worst breaker of any process sheds. With many endpoints it is about the share of the dead "+
			"ones. Above 50 % an alert pages.")
	shed.Ratio, shed.Decimals, shed.NoValue = true, 1, "no traffic"
	age := stat("Snapshot age", 4, "s", worst(oldestSnapshot(theBreaker().by()...)), thresholds(30, 60),
		"The age of the oldest snapshot of the store in any process. A second or two is normal. After MaxStale the "+
			"process follows OnStale. A process that has never read the store probably has no Run.")
	age.Mappings = neverRead()
	return []grafana.Panel{
		alertsStat(breakerScope(), 4),
		stat("Disabled", 3, "short", worst(circuitsIn(breaker.Disabled)), from(1, bad),
			"Circuits that tripped too often in a row, of the breaker with the most. Their calls are shed until an "+
				"operator enables them. Report each endpoint to its owner."),
		stat("Disabled, 1 h", 4, "short", worst(disabledLastHour()), from(1, warn),
			"Circuits that became disabled in the last hour, also those that were enabled again since, of the breaker "+
				"with the most. Endpoints that die are normal for webhooks. Many at once are a fault in our own network."),
		stat("Open", 3, "short", worst(circuitsIn(breaker.Open)), from(1, warn),
			"Circuits whose calls are shed for a while because too many failed, of the breaker with the most. A few are "+
				"normal. If many open at once, check our own network and the polls first."),
		shed,
		stat("Leaders", 3, "short", lowest(leaders()), []grafana.Step{{Color: bad}, {From: 1, Color: good}},
			"Processes that lead, of the breaker with the fewest. At 0 no circuit of it opens or closes. For a few "+
				"seconds this is a change of the leader."),
		age,
	}
}

func breakersTable() grafana.Panel {
	by := theBreaker().by()
	return table("Breakers", "no breaker", "Each breaker of each job. Choose a name to select only that breaker. Leaders should be 1. "+
		"A breaker with a store in memory has a leader and circuits of its own in each process.",
		[]grafana.Sort{{Title: "Disabled"}, {Title: "Shed"}},
		grafana.Column{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{theBreaker().link(breakersUID, "Only this breaker")}},
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
			Description: "Calls that were sent, by the state of their circuit. half_open are probes, few by " +
				"design. open and disabled are calls that Shadow sent. With a stale snapshot, FailOpen treats " +
				"all circuits as closed.",
		}),
		{
			Title: "Shed by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(shadowSuffix),
			View: grafana.Graph{Short: true},
			Description: "Calls that were shed, by the state of their circuit. closed are calls that FailClosed " +
				"sheds while the snapshot is stale. Dashed lines are calls that Shadow sent. Callers that retry " +
				"at once add to these: let them wait for RetryAfter.",
			Targets: []grafana.Target{
				{Expr: sum(rate(breakerCalls().ofBreaker(isShed())), state()), Legend: legend(state())},
				{Expr: sum(rate(breakerCalls().ofBreaker(isShadow())), state()) + " > 0", Legend: legend(state()) + shadowSuffix},
			},
		},
		graph(breakerShedShare(theBreaker().by()...), theBreaker().legend(), grafana.Panel{
			Title: "Shed share by breaker", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Steps: thresholds(0.1, 0.5), View: grafana.Graph{Thresholds: true},
			Description: "The share of calls that each breaker shed. Above the upper line an alert pages: the " +
				"breaker sheds more than it sends.",
		}),
	}
}

func circuitPanels() []grafana.Panel {
	most := "max_over_time(" + circuits().ofBreaker(differs(state(), breaker.Closed.String())) + "[$__rate_interval])"
	return []grafana.Panel{
		graph(sum(highest(most, ofJob(breakerName(), state())...), state()), legend(state()), grafana.Panel{
			Title: "Circuits by state", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
			Description: "The most circuits that were not closed at a scrape, in each interval. State changes beside it has those " +
				"between two scrapes too. A step up is an outage that many endpoints share, or a " +
				"fault in our own network. A slow rise of disabled means that endpoints die and are never " +
				"enabled or removed.",
		}),
		graph("60 * "+sum(rate(transitions().ofBreaker()), state()), legend(state()), grafana.Panel{
			Title: "State changes per minute", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(),
			Description: "State changes of circuits, by the new state. Equal open and half_open without closed: " +
				"the endpoints fail at every probe. Equal open and closed: the endpoints fail now and then.",
		}),
	}
}

func fleetPanels() []grafana.Panel {
	by := theBreaker().byProcess()
	name := "{{job}} {{instance}} " + legend(breakerName())
	return []grafana.Panel{
		graph(sum(leader().ofBreaker(), by...)+" > 0", name, grafana.Panel{
			Title: "Leader by instance", Width: 12, Unit: "short", NoValue: "no breaker",
			Description: "The processes that lead. The leader should stay the same for " +
				"days. If it changes often, the store is slow or the process lacks CPU. Two leaders for moments " +
				"are harmless: the store accepts writes of the newer one only.",
		}),
		graph(highest(snapshotAge().ofBreaker(), by...), name, grafana.Panel{
			Title: "Snapshot age by instance", Width: 12, Unit: "s", NoValue: "never read", Steps: thresholds(30, 60), View: grafana.Graph{Thresholds: true},
			Description: "The age of the snapshot of the store in each process. If all are old, check the " +
				"store. If one is, check that process and its network. A process that is missing has never read " +
				"the store: its Run does not run.",
		}),
		graph("60 * "+sum(rate(breakerFailures().ofBreaker()), failure())+" > 0", legend(failure()), grafana.Panel{
			Title: "Failures per minute by kind", Width: 12, Unit: "short", NoValue: "no failures", Colors: byFailure(),
			View: grafana.Graph{Short: true},
			Description: "Failures of background work; no call fails because of them. store, poll and notify " +
				"should be 0 and have an alert. conflict and fenced for moments are a change of the leader. " +
				"loss means that the store lost data.",
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
	return table("Circuits that are not closed", "none", "The circuits of each breaker that are not closed, disabled ones first: up to the "+
		"limit of otelthrottle.WithBreakerDetail(limit). A breaker without it has one row that says so. The page /debug/throttle "+
		"and Manager.List show all of them.",
		[]grafana.Sort{{Title: "State", Ascending: true}},
		grafana.Column{Field: state(), Title: "State", Width: 100, Words: stateWords()},
		grafana.Column{Field: tenant(), Title: "Tenant", Width: 140},
		grafana.Column{Field: key(), Title: "Key", Width: 560},
		grafana.Column{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{theBreaker().link(breakersUID, "Only this breaker")}},
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Expr: circuitList(), Title: "Value", Hidden: true})
}
