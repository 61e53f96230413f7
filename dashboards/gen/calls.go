package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// legend returns the text that names a series by a label.
func legend(label string) string { return "{{" + label + "}}" }

// inShadow is what stands behind the name of a series that tells what would have been.
const inShadow = " in shadow"

// callPanels tell what became of the calls.
func callPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Calls by outcome", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byOutcome(), View: grafana.Graph{Stacked: true},
			Description: "Offered calls by outcome. accepted and rejected are answers of the backend. ignored " +
				"calls say nothing about it: canceled or panicked. shed calls were not sent. In an overload " +
				"accepted should stay at the capacity of the backend.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().chosen()), outcome()), Legend: legend(outcome())}},
		},
		{
			Title: "Admitted by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "Calls that were sent to the backend, including those that only Shadow let through. " +
				"High should not change while the lower priorities give way.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().chosen(isSent())), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Shed by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(inShadow), View: grafana.Graph{},
			Description: "Calls that were shed, and so not sent. Low should be shed first and High last. Dashed " +
				"lines are calls that a throttle in Shadow sent and Enforce would have shed.",
			Targets: []grafana.Target{
				{Expr: sum(rate(calls().chosen(isShed())), priority()), Legend: legend(priority())},
				{Expr: sum(rate(calls().chosen(isShadow())), priority()), Legend: legend(priority()) + inShadow},
			},
		},
	}
}

// decisionPanels tell how throttles decide.
func decisionPanels() []grafana.Panel {
	offered := sum(rate(calls().chosen()), priority())
	return []grafana.Panel{
		{
			Title: "Shed share by priority", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Colors: byPriority(), View: grafana.Graph{},
			Description: "The share of each priority that was shed. The order should be low, medium, important, " +
				"high. If high is above low, High calls fail for a reason of their own or carry the wrong " +
				"priority.",
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().chosen(isShed())), priority()), offered), Legend: legend(priority())}},
		},
		{
			Title: "Rejection probability", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "The probability of shedding the next call: the highest of all selected throttles and " +
				"instances. It rises within seconds (Tiered) to a minute (SRE), and falls as the window moves " +
				"on. In Shadow and Off it is the value that Enforce would use. If it stays up while the backend " +
				"accepts all calls, see the runbook of ThrottleProbabilityStuck.",
			Targets: []grafana.Target{{Expr: highest(probability().chosen(), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Shed by cause", Width: 8, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{Stacked: true},
			Colors: []grafana.Color{{Series: "own", Color: bad}, {Series: "above", Color: doubtful}},
			Description: "own: the backend rejects calls of the same priority. above: it rejects calls of a " +
				"higher priority, and this one gives way. Mostly above means that the throttle protects High. " +
				"Mostly own means that the backend rejects this traffic itself.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().chosen(isShed())), cause()), Legend: legend(cause())}},
		},
	}
}

// windowPanels tell what throttles have seen.
func windowPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Window: requests and accepts", Width: 12, Unit: "short", NoValue: "no throttle", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "requests", Color: "blue"}, {Series: "accepts", Color: good}},
			Description: "The window of the throttles: calls that asked to be sent, and calls that the backend " +
				"accepted. SRE sheds if requests are more than K times the accepts (2 by default). Select one " +
				"throttle: the sum of several can hide the one that sheds.",
			Targets: []grafana.Target{
				{Expr: sum(requests().chosen()), Legend: "requests"}, {Expr: sum(accepts().chosen()), Legend: "accepts"},
			},
		},
		{
			Title: "Window: accepted share by priority", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Colors: byPriority(),
			View: grafana.Graph{},
			Description: "The accepted share of the requests in the window, by priority. Near 100 % is healthy. " +
				"A priority without calls has no line.",
			Targets: []grafana.Target{{
				Expr: share(sum(accepts().chosen(), priority()), sum(requests().chosen(), priority())), Legend: legend(priority()),
			}},
		},
	}
}
