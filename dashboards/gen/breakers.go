package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakers returns the dashboard of circuits that are not closed, the calls they shed, and the
// fleet that decides.
func breakers() grafana.Dashboard {
	d := breakerBoard(breakersUID, "Breakers", "Which circuits are open, half-open and disabled, which calls "+
		"they shed, and the state of the fleet that decides: its leader, its store and its polls.")
	d.Rows = []grafana.Row{
		{Title: "Now", Height: 4, Panels: breakerSummary()},
		{Title: "Breakers, most disabled first", Height: 8, Panels: []grafana.Panel{breakersTable()}},
		{Title: "Calls", Height: 9, Panels: breakerCallPanels()},
		{Title: "Circuits", Height: 9, Panels: circuitPanels()},
		{Title: "Fleet", Height: 9, Panels: fleetPanels()},
		{Title: "Circuit list", Height: 10, Panels: []grafana.Panel{circuitsTable()}},
	}
	return d
}

// circuitsIn returns the number of circuits in a state, by breaker. Each instance reports all
// circuits of its fleet, so it is the maximum over instances.
func circuitsIn(s breaker.State) string {
	return highest(circuits().ofBreaker(inState(s)), "job", breakerName())
}

// leaders returns the number of leading processes, by breaker.
func leaders() string { return sum(leader().ofBreaker(), "job", breakerName()) }

// breakerSummary returns the panels with single numbers at the top.
func breakerSummary() []grafana.Panel {
	count := func(title string, s breaker.State, steps []grafana.Step, description string) grafana.Panel {
		return grafana.Panel{
			Title: title, Width: 4, Unit: "short", NoValue: "no breaker", Steps: steps, View: grafana.Stat{Sparkline: true}, Description: description,
			Targets: []grafana.Target{{Expr: sum(circuitsIn(s))}},
		}
	}
	return []grafana.Panel{
		count("Disabled", breaker.Disabled, []grafana.Step{{Color: good}, {From: 1, Color: bad}},
			"Circuits that tripped too often in a row. Their calls are shed until an operator enables them. "+
				"Report each endpoint to its owner."),
		count("Open", breaker.Open, []grafana.Step{{Color: good}, {From: 1, Color: warn}},
			"Circuits whose calls are shed for a while because too many failed. A few are normal. If many open "+
				"at once, check our own network and the polls first."),
		count("Half-open", breaker.HalfOpen, nil,
			"Circuits that send a few calls as probes, whose results decide whether they close. Each should be "+
				"half-open for moments only. If one stays, it has too few calls for a decision."),
		{
			Title: "Shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no traffic", Steps: thresholds(0.1, 0.5),
			Description: "The share of the calls that breakers shed. With many endpoints it is about the share " +
				"of the dead ones. Above 50 % an alert pages.",
			Targets: []grafana.Target{{Expr: share(sum(rate(breakerCalls().ofBreaker(isShed()))), sum(rate(breakerCalls().ofBreaker()))), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Without a leader", Width: 4, Unit: "short", NoValue: "no breaker", Steps: []grafana.Step{{Color: good}, {From: 1, Color: bad}},
			Description: "Breakers that no process leads. No circuit of theirs opens or closes. For a few " +
				"seconds this is a change of the leader.",
			Targets: []grafana.Target{{Expr: "count(" + leaders() + " == 0) or vector(0)", Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Oldest snapshot", Width: 4, Unit: "s", NoValue: "never read", Steps: thresholds(30, 60), View: grafana.Stat{Sparkline: true},
			Description: "The age of the oldest snapshot of the store in any process. A second or two is " +
				"normal. After MaxStale the process follows OnStale.",
			Targets: []grafana.Target{{Expr: highest(snapshotAge().ofBreaker())}},
		},
	}
}

// breakersTable returns the table of breakers, most disabled circuits first.
func breakersTable() grafana.Panel {
	by := []string{"job", breakerName()}
	query := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true, Table: true} }
	offered := sum(rate(breakerCalls().ofBreaker()), by...)
	return grafana.Panel{
		Title: "Breakers", Width: 24, Unit: "short", NoValue: "no breaker", View: grafana.Table{SortBy: "Disabled"},
		Description: "Each breaker of each job. Choose a name to select only that breaker. Leaders should be 1. " +
			"A breaker with a store in memory has a leader and circuits of its own in each process.",
		Targets: []grafana.Target{
			query(circuitsIn(breaker.Disabled)), query(circuitsIn(breaker.Open)), query(circuitsIn(breaker.HalfOpen)),
			query(offered),
			query(share(sum(rate(breakerCalls().ofBreaker(isShed())), by...), offered)),
			query(leaders()),
			query(highest(snapshotAge().ofBreaker(), by...)),
		},
		Columns: []grafana.Column{
			{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{toBreaker("Only this breaker")}},
			{Field: "job", Title: "Job"},
			{Field: "Value #A", Title: "Disabled", Unit: "short"},
			{Field: "Value #B", Title: "Open", Unit: "short"},
			{Field: "Value #C", Title: "Half-open", Unit: "short"},
			{Field: "Value #D", Title: "Calls", Unit: "reqps"},
			{Field: "Value #E", Title: "Shed", Unit: "percentunit", Steps: thresholds(0.1, 0.5)},
			{Field: "Value #F", Title: "Leaders", Unit: "short", Steps: []grafana.Step{{Color: bad}, {From: 1, Color: good}}},
			{Field: "Value #G", Title: "Oldest snapshot", Unit: "s", Steps: thresholds(30, 60)},
		},
	}
}

// breakerCallPanels returns the panels about calls that were sent and shed.
func breakerCallPanels() []grafana.Panel {
	by := []string{"job", breakerName()}
	return []grafana.Panel{
		{
			Title: "Sent by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
			Description: "Calls that were sent, by the state of their circuit. half_open are probes, few by " +
				"design. open and disabled are calls that Shadow sent. With a stale snapshot, FailOpen treats " +
				"all circuits as closed.",
			Targets: []grafana.Target{{Expr: sum(rate(breakerCalls().ofBreaker(isSent())), state()), Legend: legend(state())}},
		},
		{
			Title: "Shed by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(shadowSuffix), View: grafana.Graph{},
			Description: "Calls that were shed, by the state of their circuit. closed are calls that FailClosed " +
				"sheds while the snapshot is stale. Dashed lines are calls that Shadow sent. Callers that retry " +
				"at once add to these: let them wait for RetryAfter.",
			Targets: []grafana.Target{
				{Expr: sum(rate(breakerCalls().ofBreaker(isShed())), state()), Legend: legend(state())},
				{Expr: sum(rate(breakerCalls().ofBreaker(isShadow())), state()), Legend: legend(state()) + shadowSuffix},
			},
		},
		{
			Title: "Shed share by breaker", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Steps: thresholds(0.1, 0.5), View: grafana.Graph{Thresholds: true},
			Description: "The share of calls that each breaker shed. Above the upper line an alert pages: the " +
				"breaker sheds more than it sends.",
			Targets: []grafana.Target{{
				Expr:   share(sum(rate(breakerCalls().ofBreaker(isShed())), by...), sum(rate(breakerCalls().ofBreaker()), by...)),
				Legend: "{{job}} " + legend(breakerName()),
			}},
		},
	}
}

// circuitPanels returns the panels about the states of circuits.
func circuitPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Circuits by state", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
			Description: "Circuits that are not closed. A step up is an outage that many endpoints share, or a " +
				"fault in our own network. A slow rise of disabled means that endpoints die and are never " +
				"enabled or removed.",
			Targets: []grafana.Target{{
				Expr:   sum(highest(circuits().ofBreaker(differs(state(), breaker.Closed.String())), "job", breakerName(), state()), state()),
				Legend: legend(state()),
			}},
		},
		{
			Title: "State changes per minute", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{},
			Description: "State changes of circuits, by the new state. Equal open and half_open without closed: " +
				"the endpoints fail at every probe. Equal open and closed: the endpoints fail now and then.",
			Targets: []grafana.Target{{Expr: "60 * " + sum(rate(transitions().ofBreaker()), state()), Legend: legend(state())}},
		},
	}
}

// fleetPanels returns the panels about leaders, snapshots and background failures.
func fleetPanels() []grafana.Panel {
	by := []string{"job", "instance", breakerName()}
	name := "{{job}} {{instance}} " + legend(breakerName())
	return []grafana.Panel{
		{
			Title: "Leader by instance", Width: 8, Unit: "short", NoValue: "no breaker", View: grafana.Graph{},
			Description: "1 for the process that leads, 0 for the others. The leader should stay the same for " +
				"days. If it changes often, the store is slow or the process lacks CPU. Two leaders for moments " +
				"are harmless: the store accepts writes of the newer one only.",
			Targets: []grafana.Target{{Expr: sum(leader().ofBreaker(), by...), Legend: name}},
		},
		{
			Title: "Snapshot age by instance", Width: 8, Unit: "s", NoValue: "never read", Steps: thresholds(30, 60), View: grafana.Graph{Thresholds: true},
			Description: "The age of the snapshot of the store in each process. If all are old, check the " +
				"store. If one is, check that process and its network. A process that is missing has never read " +
				"the store: its Run does not run.",
			Targets: []grafana.Target{{Expr: highest(snapshotAge().ofBreaker(), by...), Legend: name}},
		},
		{
			Title: "Failures per minute by kind", Width: 8, Unit: "short", NoValue: "no breaker", View: grafana.Graph{},
			Description: "Failures of background work; no call fails because of them. store, poll and notify " +
				"should be 0 and have an alert. conflict and fenced for moments are a change of the leader. " +
				"loss means that the store lost data.",
			Targets: []grafana.Target{{Expr: "60 * " + sum(rate(breakerFailures().ofBreaker()), failure()), Legend: legend(failure())}},
		},
	}
}

// circuitsTable returns the table of circuits that are not closed.
func circuitsTable() grafana.Panel {
	return grafana.Panel{
		Title: "Circuits that are not closed", Width: 24, Unit: "short", NoValue: "none, or WithBreakerDetail is off",
		View: grafana.Table{SortBy: "State", Ascending: true},
		Description: "The circuits of each breaker that are not closed, disabled ones first. Only breakers with " +
			"otelthrottle.WithBreakerDetail(limit) are here, up to that limit. The page /debug/throttle and " +
			"Manager.List show all of them.",
		Targets: []grafana.Target{{
			Expr: highest(circuit().ofBreaker(), "job", breakerName(), tenant(), key(), state()), Instant: true, Table: true,
		}},
		Columns: []grafana.Column{
			{Field: state(), Title: "State", Width: 110},
			{Field: tenant(), Title: "Tenant"},
			{Field: key(), Title: "Key"},
			{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{toBreaker("Only this breaker")}},
			{Field: "job", Title: "Job"},
			{Field: "Value", Title: "Value", Hidden: true},
		},
	}
}
