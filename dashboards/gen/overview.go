package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// overview is the dashboard to begin with: what is shed, of which priority, and why.
func overview() grafana.Dashboard {
	d := frame(overviewUID, "Overview", "Which calls throttles send and shed, by priority and cause. Start here "+
		"if calls are shed, and choose the throttle at the top of the table.")
	d.Rows = []grafana.Row{
		{Title: "Now", Height: 4, Panels: nowPanels()},
		{Title: "Throttles, worst first", Height: 8, Panels: []grafana.Panel{throttlesTable()}},
		{Title: "Calls", Height: 9, Panels: callPanels()},
		{Title: "Decisions", Height: 9, Panels: decisionPanels()},
		{Title: "Window", Height: 9, Panels: windowPanels()},
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
			Description: "Calls through the selected throttles that have ended or were shed. Compare with a " +
				"normal day. Much more is an overload, or callers that retry. Much less may be calls that hang: " +
				"those are only in flight.",
			Targets: []grafana.Target{{Expr: offered}},
		},
		{
			Title: "Shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no traffic", Steps: from(0.05, 0.5),
			Description: "The share of the offered calls that throttles shed. 0 is normal, and a few percent " +
				"for some minutes are the normal work of a throttle. If it lasts, add capacity to the backend " +
				"or reduce the load.",
			Links:   []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().chosen(isShed()))), offered), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "High shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 2, NoValue: "no traffic", Steps: from(0.001, 0.01),
			Description: "The share of the High calls that were shed, for all priorities selected. Should be 0, " +
				"because other calls are shed to protect these. Above 1 % an alert pages.",
			Links: []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{
				Expr:    share(sum(rate(calls().of(isHigh(), isShed()))), sum(rate(calls().of(isHigh())))),
				Instant: true,
			}},
			View: grafana.Stat{},
		},
		{
			Title: "Worst probability", Width: 4, Unit: "percentunit", Ratio: true, NoValue: "no throttle", Steps: from(0.1, 0.9),
			Description: "The highest probability of shedding the next call, of all selected throttles, " +
				"priorities and instances. Near 1 for low priorities is an overload. Near 1 for High is a " +
				"backend that is down.",
			Targets: []grafana.Target{{Expr: highest(probability().chosen()), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Accepted by the backend", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no answers",
			Steps: []grafana.Step{{Color: bad}, {From: 0.5, Color: doubtful}, {From: 0.9, Color: good}},
			Description: "The share of the answered calls that the backend accepted, without ignored calls. " +
				"Near 100 % is healthy. In an overload it settles at 50 % with SRE and 90 % with Tiered.",
			Links: []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{
				Expr:    share(sum(rate(calls().chosen(isAccepted()))), sum(rate(calls().chosen(isAnswered())))),
				Instant: true,
			}},
			View: grafana.Stat{},
		},
		{
			Title: "In flight", Width: 4, Unit: "short", NoValue: "no throttle", View: grafana.Stat{Sparkline: true},
			Description: "Admitted calls that have not ended. Grows with latency. A steady climb means calls " +
				"that hang or are never ended: response bodies that are not closed, streams, calls of Admit " +
				"without Done.",
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
		Description: "Each throttle of each job, by the share of calls that it sheds. Choose a name to select " +
			"only that throttle. A throttle without traffic has no shares.",
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
				toThrottle(overviewUID, "Only this throttle"), toThrottle(availabilityUID, "Its faults"),
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
