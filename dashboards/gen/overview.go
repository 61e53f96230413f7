package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// overview is the dashboard to begin with: what is shed, of which priority, and why.
func overview() grafana.Dashboard {
	d := frame(overviewUID, "Overview", "What throttles admit and shed, of which priority, and why. Begin here when calls are shed, "+
		"and choose the throttle that the table shows first.")
	d.Rows = []grafana.Row{
		{Title: "Now", Height: 4, Panels: nowPanels()},
		{Title: "Throttles, the worst first", Height: 8, Panels: []grafana.Panel{throttlesTable()}},
		{Title: "Calls", Height: 9, Panels: callPanels()},
		{Title: "Decisions", Height: 9, Panels: decisionPanels()},
		{Title: "What decisions rest on", Height: 9, Panels: windowPanels()},
		{Title: "Admitted calls", Height: 10, Panels: latencyPanels()},
		{Title: "Per instance", Height: 9, Collapsed: true, Panels: instancePanels()},
		{Title: "Go runtime", Height: 8, Collapsed: true, Panels: runtimePanels()},
	}
	return d
}

// nowPanels are the numbers to see first.
func nowPanels() []grafana.Panel {
	offered := sum(rate(calls().chosen()))
	return []grafana.Panel{
		{
			Title: "Offered", Width: 4, Unit: "reqps", NoValue: "no throttle", View: grafana.Stat{Sparkline: true},
			Description: "Calls through the chosen throttles that have ended or were shed. Compare with a day on which all was well: much more is an " +
				"overload from outside, or callers that retry; much less may be calls that hang, which are in flight only.",
			Targets: []grafana.Target{{Expr: offered}},
		},
		{
			Title: "Shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no traffic", Steps: from(0.05, 0.5),
			Description: "The share of the offered calls that throttles refused to send. 0 is normal; a few percent for minutes is a throttle " +
				"that does its work; lasting shedding means that the backend needs capacity or the callers must ask for less.",
			Links:   []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().chosen(isShed()))), offered), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "High shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 2, NoValue: "no traffic", Steps: from(0.001, 0.01),
			Description: "The share of the calls of priority high that was shed, whatever priorities are chosen. Should be 0: everything else " +
				"is shed to protect these. Above 1 % somebody is paged.",
			Links: []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{
				Expr:    share(sum(rate(calls().of(isHigh(), isShed()))), sum(rate(calls().of(isHigh())))),
				Instant: true,
			}},
			View: grafana.Stat{},
		},
		{
			Title: "Worst probability", Width: 4, Unit: "percentunit", Ratio: true, NoValue: "no throttle", Steps: from(0.1, 0.9),
			Description: "The highest probability with which a call of any chosen throttle, priority and instance would be shed now. " +
				"Near 1 for low priorities is an overload; near 1 for high is a backend that is down.",
			Targets: []grafana.Target{{Expr: highest(probability().chosen()), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Accepted by the backend", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no answers",
			Steps: []grafana.Step{{Color: bad}, {From: 0.5, Color: doubtful}, {From: 0.9, Color: good}},
			Description: "The share of the calls that were sent and that the backend accepted; ignored calls are left out. Near 1 is a healthy " +
				"backend; a throttle in an overload settles between a half (SRE) and nine tenths (Tiered).",
			Links: []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{
				Expr:    share(sum(rate(calls().chosen(isAccepted()))), sum(rate(calls().chosen(isAnswered())))),
				Instant: true,
			}},
			View: grafana.Stat{},
		},
		{
			Title: "In flight", Width: 4, Unit: "short", NoValue: "no throttle", View: grafana.Stat{Sparkline: true},
			Description: "Admitted calls that have not ended yet. Grows with latency; a steady climb without an end is calls that hang, or " +
				"that nobody ends: bodies that are not closed, streams, calls of Admit without Done.",
			Targets: []grafana.Target{{Expr: sum(active().chosen())}},
		},
	}
}

// throttlesTable is where to find the throttle that is to blame.
func throttlesTable() grafana.Panel {
	by := []string{"job", throttleName()}
	offered := sum(rate(calls().chosen()), by...)
	query := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true, Table: true} }
	return grafana.Panel{
		Title: "Throttles", Width: 24, Unit: "short", NoValue: "no throttle", View: grafana.Table{SortBy: "Shed"},
		Description: "Each throttle of each job, by how much it sheds. Choose a name to see that throttle alone. A throttle without traffic has " +
			"no shares.",
		Targets: []grafana.Target{
			query(offered),
			query(share(sum(rate(calls().chosen(isShed())), by...), offered)),
			query(share(sum(rate(calls().of(isHigh(), isShed())), by...), sum(rate(calls().of(isHigh())), by...))),
			query(highest(probability().chosen(), by...)),
			query(share(sum(rate(calls().chosen(isAccepted())), by...), sum(rate(calls().chosen(isAnswered())), by...))),
			query(sum(active().chosen(), by...)),
		},
		Columns: []grafana.Column{
			{Field: throttleName(), Title: "Throttle", Links: []grafana.Link{
				toThrottle(overviewUID, "This throttle alone"), toThrottle(availabilityUID, "Its faults"),
			}},
			{Field: "job", Title: "Job"},
			{Field: "Value #A", Title: "Offered", Unit: "reqps"},
			{Field: "Value #B", Title: "Shed", Unit: "percentunit", Steps: from(0.05, 0.5)},
			{Field: "Value #C", Title: "High shed", Unit: "percentunit", Steps: from(0.001, 0.01)},
			{Field: "Value #D", Title: "Worst probability", Unit: "percentunit", Steps: from(0.1, 0.9)},
			{Field: "Value #E", Title: "Accepted by the backend", Unit: "percentunit"},
			{Field: "Value #F", Title: "In flight", Unit: "short"},
		},
	}
}
