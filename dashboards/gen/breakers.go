package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakers is the dashboard of circuits: which are not closed, what that costs, and whether the fleet that decides is well.
func breakers() grafana.Dashboard {
	d := breakerFrame(breakersUID, "Breakers", "Which circuits are open, half-open and disabled, which calls they refuse, and whether the "+
		"fleet that decides about them is well: its leader, its store, its counts.")
	d.Rows = []grafana.Row{
		{Title: "Now", Height: 4, Panels: circuitsNow()},
		{Title: "Breakers, the most disabled first", Height: 8, Panels: []grafana.Panel{breakersTable()}},
		{Title: "Calls", Height: 9, Panels: refusalPanels()},
		{Title: "Circuits", Height: 9, Panels: circuitPanels()},
		{Title: "The fleet", Height: 9, Panels: fleetPanels()},
		{Title: "Which circuits", Height: 10, Panels: []grafana.Panel{circuitsTable()}},
	}
	return d
}

// circuitsIn returns how many circuits are in a state, of each breaker. All instances of a fleet see all its circuits, so the most that
// one of them sees is how many there are.
func circuitsIn(s breaker.State) string {
	return highest(circuits().ofBreaker(in(s)), "job", breakerName())
}

// leaders returns how many processes lead, of each breaker.
func leaders() string { return sum(leader().ofBreaker(), "job", breakerName()) }

// circuitsNow are the numbers to see first.
func circuitsNow() []grafana.Panel {
	count := func(title string, s breaker.State, steps []grafana.Step, description string) grafana.Panel {
		return grafana.Panel{
			Title: title, Width: 4, Unit: "short", NoValue: "no breaker", Steps: steps, View: grafana.Stat{Sparkline: true}, Description: description,
			Targets: []grafana.Target{{Expr: sum(circuitsIn(s))}},
		}
	}
	return []grafana.Panel{
		count("Disabled", breaker.Disabled, []grafana.Step{{Color: good}, {From: 1, Color: bad}},
			"Circuits that tripped too often in a row. Their calls are refused until somebody enables them. Each is an endpoint "+
				"whose owner should hear of it."),
		count("Open", breaker.Open, []grafana.Step{{Color: good}, {From: 1, Color: doubtful}},
			"Circuits whose calls are refused for a while, because too many failed. A few are what a breaker is for; many at once are "+
				"more likely our own network, or counts that are wrong."),
		count("Half-open", breaker.HalfOpen, nil,
			"Circuits that let a few calls through, the probes, whose results decide whether they close. Each should be here for moments; one "+
				"that stays has too few calls to decide."),
		{
			Title: "Shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no traffic", Steps: from(0.1, 0.5),
			Description: "The share of the calls that breakers shed. With many endpoints it is about the share of the dead ones. Above 50 % somebody " +
				"is paged.",
			Targets: []grafana.Target{{Expr: share(sum(rate(decided().ofBreaker(isShed()))), sum(rate(decided().ofBreaker()))), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Without a leader", Width: 4, Unit: "short", NoValue: "no breaker", Steps: []grafana.Step{{Color: good}, {From: 1, Color: bad}},
			Description: "Breakers of which no process leads. Then nobody counts: no circuit opens, and none that is open closes. For seconds that is " +
				"a change of the leader.",
			Targets: []grafana.Target{{Expr: "count(" + leaders() + " == 0) or vector(0)", Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Oldest snapshot", Width: 4, Unit: "s", NoValue: "never read", Steps: from(30, 60), View: grafana.Stat{Sparkline: true},
			Description: "How long ago the store was read last, by the process that is the furthest behind. A second or two is normal. After MaxStale " +
				"the process does what OnStale says.",
			Targets: []grafana.Target{{Expr: highest(age().ofBreaker())}},
		},
	}
}

// breakersTable is where to find the breaker that is to blame.
func breakersTable() grafana.Panel {
	by := []string{"job", breakerName()}
	query := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true, Table: true} }
	offered := sum(rate(decided().ofBreaker()), by...)
	return grafana.Panel{
		Title: "Breakers", Width: 24, Unit: "short", NoValue: "no breaker", View: grafana.Table{SortBy: "Disabled"},
		Description: "Each breaker of each job. Choose a name to see that breaker alone. Leaders should be 1, but a breaker whose store is in " +
			"memory has one in each process, and circuits of its own.",
		Targets: []grafana.Target{
			query(circuitsIn(breaker.Disabled)), query(circuitsIn(breaker.Open)), query(circuitsIn(breaker.HalfOpen)),
			query(offered),
			query(share(sum(rate(decided().ofBreaker(isShed())), by...), offered)),
			query(leaders()),
			query(highest(age().ofBreaker(), by...)),
		},
		Columns: []grafana.Column{
			{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{toBreaker("This breaker alone")}},
			{Field: "job", Title: "Job"},
			{Field: "Value #A", Title: "Disabled", Unit: "short"},
			{Field: "Value #B", Title: "Open", Unit: "short"},
			{Field: "Value #C", Title: "Half-open", Unit: "short"},
			{Field: "Value #D", Title: "Calls", Unit: "reqps"},
			{Field: "Value #E", Title: "Shed", Unit: "percentunit", Steps: from(0.1, 0.5)},
			{Field: "Value #F", Title: "Leaders", Unit: "short", Steps: []grafana.Step{{Color: bad}, {From: 1, Color: good}}},
			{Field: "Value #G", Title: "Oldest snapshot", Unit: "s", Steps: from(30, 60)},
		},
	}
}

// refusalPanels tell what became of the calls.
func refusalPanels() []grafana.Panel {
	by := []string{"job", breakerName()}
	return []grafana.Panel{
		{
			Title: "Let through, by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
			Description: "Calls that were made, by the state of their circuit. half_open are the probes, few by design. open and disabled are calls " +
				"that DryRun let through. While its store is silent for too long, FailOpen takes all circuits for closed.",
			Targets: []grafana.Target{{Expr: sum(rate(decided().ofBreaker(isSent())), state()), Legend: legend(state())}},
		},
		{
			Title: "Shed, by state", Width: 8, Unit: "reqps", NoValue: "no breaker", Colors: byState(inShadow), View: grafana.Graph{},
			Description: "Calls that were shed, and never made, by the state of their circuit; closed are those that FailClosed refuses while " +
				"nothing is known. Dashed: what DryRun let through. A caller that asks again at once shows as many: let it wait for RetryAfter.",
			Targets: []grafana.Target{
				{Expr: sum(rate(decided().ofBreaker(isShed())), state()), Legend: legend(state())},
				{Expr: sum(rate(decided().ofBreaker(isShadow())), state()), Legend: legend(state()) + inShadow},
			},
		},
		{
			Title: "Shed, by breaker", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Steps: from(0.1, 0.5), View: grafana.Graph{Thresholds: true},
			Description: "The share of its calls that each breaker shed. The upper line is where somebody is paged: more is shed than " +
				"let through.",
			Targets: []grafana.Target{{
				Expr:   share(sum(rate(decided().ofBreaker(isShed())), by...), sum(rate(decided().ofBreaker()), by...)),
				Legend: "{{job}} " + legend(breakerName()),
			}},
		},
	}
}

// circuitPanels tell how circuits changed.
func circuitPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Circuits, by state", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{Stacked: true},
			Description: "Circuits that are not closed. A step up is an outage of something that many endpoints share, or of our own way to them; a slow " +
				"rise of disabled ones is endpoints that die and that nobody looks after.",
			Targets: []grafana.Target{{
				Expr:   sum(highest(circuits().ofBreaker(isNot(state(), breaker.Closed.String())), "job", breakerName(), state()), state()),
				Legend: legend(state()),
			}},
		},
		{
			Title: "Changes a minute, by state", Width: 12, Unit: "short", NoValue: "no breaker", Colors: byState(), View: grafana.Graph{},
			Description: "Changes of circuits to each state, in a minute. open and half_open in equal measure, and neither closed nor disabled, are " +
				"endpoints that fail whenever they are tried; closed and open in equal measure are endpoints that fail now and then.",
			Targets: []grafana.Target{{Expr: "60 * " + sum(rate(transitions().ofBreaker()), state()), Legend: legend(state())}},
		},
	}
}

// fleetPanels tell whether those who decide are well.
func fleetPanels() []grafana.Panel {
	by := []string{"job", "instance", breakerName()}
	name := "{{job}} {{instance}} " + legend(breakerName())
	return []grafana.Panel{
		{
			Title: "Leader, by instance", Width: 8, Unit: "short", NoValue: "no breaker", View: grafana.Graph{},
			Description: "1 for the process that leads, 0 for the others. It should stay where it is for days; a leader that wanders has a slow store " +
				"or too little processor. Two at once for moments are harmless: the store takes only the newer one's word.",
			Targets: []grafana.Target{{Expr: sum(leader().ofBreaker(), by...), Legend: name}},
		},
		{
			Title: "Snapshot age, by instance", Width: 8, Unit: "s", NoValue: "never read", Steps: from(30, 60), View: grafana.Graph{Thresholds: true},
			Description: "How long ago each process read the store last. All alike is the store; one alone is that process, or its way to the " +
				"store. One that is missing has never read it: its Run is not running.",
			Targets: []grafana.Target{{Expr: highest(age().ofBreaker(), by...), Legend: name}},
		},
		{
			Title: "Failures a minute, by kind", Width: 8, Unit: "short", NoValue: "no breaker", View: grafana.Graph{},
			Description: "What went wrong beside the calls, in a minute; no call fails for it. store, poll and notify should be 0, and have an " +
				"alert. conflict and fenced for moments are a change of the leader. loss is a store that forgot.",
			Targets: []grafana.Target{{Expr: "60 * " + sum(rate(failures().ofBreaker()), failure()), Legend: legend(failure())}},
		},
	}
}

// circuitsTable names the circuits that are not closed.
func circuitsTable() grafana.Panel {
	return grafana.Panel{
		Title: "Circuits that are not closed", Width: 24, Unit: "short", NoValue: "none, or no WithBreakerDetail",
		View: grafana.Table{SortBy: "State", Ascending: true},
		Description: "The gravest circuits of each breaker, the disabled ones first. Only breakers whose telemetry was made with " +
			"otelthrottle.WithBreakerDetail(limit) are here, and only up to its limit; the page /debug/throttle and Manager.List know without.",
		Targets: []grafana.Target{{
			Expr: highest(circuit().ofBreaker(), "job", breakerName(), tenant(), key(), state()), Instant: true, Table: true,
		}},
		Columns: []grafana.Column{
			{Field: state(), Title: "State", Width: 110},
			{Field: tenant(), Title: "Tenant"},
			{Field: key(), Title: "Key"},
			{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{toBreaker("This breaker alone")}},
			{Field: "job", Title: "Job"},
			{Field: "Value", Title: "Value", Hidden: true},
		},
	}
}
