package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

// overview returns the dashboard to start with: which calls are shed, by priority and cause.
func overview() grafana.Dashboard {
	d := throttleBoard(overviewUID, "Overview", "Which calls throttles send and shed, by priority and cause. Start here "+
		"if calls are shed, and choose the throttle at the top of the table.")
	d.Rows = []grafana.Row{
		{Title: "Now", Height: 4, Panels: summaryPanels()},
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

// summaryPanels returns the panels with single numbers at the top.
func summaryPanels() []grafana.Panel {
	offered := sum(rate(calls().selected()))
	return []grafana.Panel{
		{
			Title: "Offered", Width: 4, Unit: "reqps", NoValue: "no throttle", View: grafana.Stat{Sparkline: true},
			Description: "Calls through the selected throttles that have ended or were shed. Compare with a " +
				"normal day. Much more is an overload, or callers that retry. Much less may be calls that hang: " +
				"those are only in flight.",
			Targets: []grafana.Target{{Expr: offered}},
		},
		{
			Title: "Shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no traffic", Steps: thresholds(0.05, 0.5),
			Description: "The share of the offered calls that throttles shed. 0 is normal, and a few percent " +
				"for some minutes are the normal work of a throttle. If it lasts, add capacity to the backend " +
				"or reduce the load.",
			Links:   []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().selected(isShed()))), offered), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "High shed", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 2, NoValue: "no traffic", Steps: thresholds(0.001, 0.01),
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
			Title: "Worst probability", Width: 4, Unit: "percentunit", Ratio: true, NoValue: "no throttle", Steps: thresholds(0.1, 0.9),
			Description: "The highest probability of shedding the next call, of all selected throttles, " +
				"priorities and instances. Near 1 for low priorities is an overload. Near 1 for High is a " +
				"backend that is down.",
			Targets: []grafana.Target{{Expr: highest(probability().selected()), Instant: true}},
			View:    grafana.Stat{},
		},
		{
			Title: "Accepted by the backend", Width: 4, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no answers",
			Steps: []grafana.Step{{Color: bad}, {From: 0.5, Color: warn}, {From: 0.9, Color: good}},
			Description: "The share of the answered calls that the backend accepted, without ignored calls. " +
				"Near 100 % is healthy. In an overload it settles at 50 % with SRE and 90 % with Tiered.",
			Links: []grafana.Link{toAvailability()},
			Targets: []grafana.Target{{
				Expr:    share(sum(rate(calls().selected(isAccepted()))), sum(rate(calls().selected(isAnswered())))),
				Instant: true,
			}},
			View: grafana.Stat{},
		},
		{
			Title: "In flight", Width: 4, Unit: "short", NoValue: "no throttle", View: grafana.Stat{Sparkline: true},
			Description: "Admitted calls that have not ended. Grows with latency. A steady climb means calls " +
				"that hang or are never ended: response bodies that are not closed, streams, calls of Admit " +
				"without Done.",
			Targets: []grafana.Target{{Expr: sum(active().selected())}},
		},
	}
}

// throttlesTable returns the table of throttles, highest share of shed calls first.
func throttlesTable() grafana.Panel {
	by := []string{"job", throttleName()}
	offered := sum(rate(calls().selected()), by...)
	query := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true, Table: true} }
	return grafana.Panel{
		Title: "Throttles", Width: 24, Unit: "short", NoValue: "no throttle", View: grafana.Table{SortBy: "Shed"},
		Description: "Each throttle of each job, by the share of calls that it sheds. Choose a name to select " +
			"only that throttle. A throttle without traffic has no shares. Canceled is the share of the sent " +
			"calls whose callers gave up: above 50 % an alert warns, above 90 % it pages.",
		Targets: []grafana.Target{
			query(offered),
			query(share(sum(rate(calls().selected(isShed())), by...), offered)),
			query(share(sum(rate(calls().of(isHigh(), isShed())), by...), sum(rate(calls().of(isHigh())), by...))),
			query(highest(probability().selected(), by...)),
			query(share(sum(rate(calls().selected(isAccepted())), by...), sum(rate(calls().selected(isAnswered())), by...))),
			query(share(sum(rate(calls().selected(isCanceled())), by...), sum(rate(calls().selected(isSent())), by...))),
			query(sum(active().selected(), by...)),
		},
		Columns: []grafana.Column{
			{Field: throttleName(), Title: "Throttle", Links: []grafana.Link{
				toThrottle(overviewUID, "Only this throttle"), toThrottle(availabilityUID, "Its faults"),
			}},
			{Field: "job", Title: "Job"},
			{Field: "Value #A", Title: "Offered", Unit: "reqps"},
			{Field: "Value #B", Title: "Shed", Unit: "percentunit", Steps: thresholds(0.05, 0.5)},
			{Field: "Value #C", Title: "High shed", Unit: "percentunit", Steps: thresholds(0.001, 0.01)},
			{Field: "Value #D", Title: "Worst probability", Unit: "percentunit", Steps: thresholds(0.1, 0.9)},
			{Field: "Value #E", Title: "Accepted by the backend", Unit: "percentunit"},
			{Field: "Value #F", Title: "Canceled", Unit: "percentunit", Steps: thresholds(0.5, 0.9)},
			{Field: "Value #G", Title: "In flight", Unit: "short"},
		},
	}
}

// legend returns the name of a series by the value of a label.
func legend(label string) string { return "{{" + label + "}}" }

// shadowSuffix ends the name of a series of calls that only Shadow let through.
const shadowSuffix = " in shadow"

// callsByOutcome returns the rates of calls by outcome. Canceled calls have an outcome of their own.
func callsByOutcome() string {
	canceled := sum(rate(calls().selected(isCanceled())))
	return sum(rate(calls().selected(notCanceled())), outcome()) +
		fmt.Sprintf(" or label_replace(%s, %q, %q, \"\", \"\")", canceled, outcome(), throttle.FaultCanceled.String())
}

// callPanels returns the panels about calls that were sent and shed.
func callPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Calls by outcome", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byOutcome(), View: grafana.Graph{Stacked: true},
			Description: "Offered calls by outcome. accepted and rejected are answers of the backend. ignored " +
				"calls say nothing about it. canceled calls have a line of their own, whether they are ignored or " +
				"rejected: their callers gave up. If there are many, the backend may hang. shed calls were not " +
				"sent. In an overload accepted should stay at the capacity of the backend.",
			Targets: []grafana.Target{{Expr: callsByOutcome(), Legend: legend(outcome())}},
		},
		{
			Title: "Admitted by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "Calls that were sent to the backend, including those that only Shadow let through. " +
				"High should not change while the lower priorities give way.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().selected(isSent())), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Shed by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(shadowSuffix), View: grafana.Graph{},
			Description: "Calls that were shed, and so not sent. Low should be shed first and High last. Dashed " +
				"lines are calls that a throttle in Shadow sent and Enforce would have shed.",
			Targets: []grafana.Target{
				{Expr: sum(rate(calls().selected(isShed())), priority()), Legend: legend(priority())},
				{Expr: sum(rate(calls().selected(isShadow())), priority()), Legend: legend(priority()) + shadowSuffix},
			},
		},
	}
}

// decisionPanels returns the panels about the decisions of throttles.
func decisionPanels() []grafana.Panel {
	offered := sum(rate(calls().selected()), priority())
	return []grafana.Panel{
		{
			Title: "Shed share by priority", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Colors: byPriority(), View: grafana.Graph{},
			Description: "The share of each priority that was shed. The order should be low, medium, important, " +
				"high. If high is above low, High calls fail for a reason of their own or carry the wrong " +
				"priority.",
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().selected(isShed())), priority()), offered), Legend: legend(priority())}},
		},
		{
			Title: "Rejection probability", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "The probability of shedding the next call: the highest of all selected throttles and " +
				"instances. It rises within seconds (Tiered) to a minute (SRE), and falls as the window moves " +
				"on. In Shadow and Off it is the value that Enforce would use. If it stays up while the backend " +
				"accepts all calls, see the runbook of ThrottleProbabilityStuck.",
			Targets: []grafana.Target{{Expr: highest(probability().selected(), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Shed by cause", Width: 8, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{Stacked: true},
			Colors: []grafana.Color{{Series: "own", Color: bad}, {Series: "above", Color: warn}},
			Description: "own: the backend rejects calls of the same priority. above: it rejects calls of a " +
				"higher priority, and this one gives way. Mostly above means that the throttle protects High. " +
				"Mostly own means that the backend rejects this traffic itself.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().selected(isShed())), cause()), Legend: legend(cause())}},
		},
	}
}

// windowPanels returns the panels about the windows of throttles.
func windowPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Window: requests and accepts", Width: 12, Unit: "short", NoValue: "no throttle", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "requests", Color: "blue"}, {Series: "accepts", Color: good}},
			Description: "The window of the throttles: calls that asked to be sent, and calls that the backend " +
				"accepted. SRE sheds if requests are more than K times the accepts (2 by default). Select one " +
				"throttle: the sum of several can hide the one that sheds.",
			Targets: []grafana.Target{
				{Expr: sum(requests().selected()), Legend: "requests"}, {Expr: sum(accepts().selected()), Legend: "accepts"},
			},
		},
		{
			Title: "Window: accepted share by priority", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Colors: byPriority(),
			View: grafana.Graph{},
			Description: "The accepted share of the requests in the window, by priority. Near 100 % is healthy. " +
				"A priority without calls has no line.",
			Targets: []grafana.Target{{
				Expr: share(sum(accepts().selected(), priority()), sum(requests().selected(), priority())), Legend: legend(priority()),
			}},
		},
	}
}

// quantile returns a quantile of the durations of calls, by labels.
func quantile(q float64, conditions []matcher, by ...string) string {
	return fmt.Sprintf("histogram_quantile(%v, %s)", q, sum(rate(duration().selected(conditions...)), append([]string{"le"}, by...)...))
}

// latencyPanels returns the panels about admitted calls: durations, calls in flight and fallbacks.
func latencyPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Call duration", Width: 12, Unit: "s", NoValue: "no durations", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p95", Color: warn}, {Series: "p99", Color: bad}},
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
			Targets: []grafana.Target{{Expr: sum(active().selected(), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Fallbacks", Width: 12, Unit: "reqps", NoValue: "no fallbacks", View: grafana.Graph{},
			Description: "Fallbacks by the outcome of the call that they replaced. Most should replace shed " +
				"calls. Fallbacks that failed have a line of their own with the error type: their callers got " +
				"an error.",
			Targets: []grafana.Target{
				{Expr: sum(rate(fallbacks().selected(equals(errorType(), ""))), outcome()), Legend: legend(outcome()) + ", served"},
				{
					Expr:   sum(rate(fallbacks().selected(differs(errorType(), ""))), outcome(), errorType()),
					Legend: legend(outcome()) + ", failed with " + legend(errorType()),
				},
			},
		},
	}
}
