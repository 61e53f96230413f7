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
			Title: "What became of calls", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byOutcome(), View: grafana.Graph{Stacked: true},
			Description: "Offered calls by their end: accepted or rejected by the backend, ignored because they say nothing about it (the caller " +
				"cancelled, the function panicked), or shed and never sent. In an overload accepted should stay as high as the backend can.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().chosen()), outcome()), Legend: legend(outcome())}},
		},
		{
			Title: "Admitted, by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "Calls that were sent to the backend, also those that Shadow would have shed. High should go on as before while the " +
				"lower priorities make room.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().chosen(isSent())), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Shed, by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(inShadow), View: grafana.Graph{},
			Description: "Calls that were refused without being sent. Low should go first and high last. Dashed: calls that a throttle in Shadow " +
				"let through and would have shed.",
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
			Title: "Shed, of what was offered", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Colors: byPriority(), View: grafana.Graph{},
			Description: "The share of each priority that was shed. The order should be low, medium, important, high; high above low is a priority " +
				"that fails for reasons of its own, or calls that bear the wrong one.",
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().chosen(isShed())), priority()), offered), Legend: legend(priority())}},
		},
		{
			Title: "Rejection probability", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no throttle", Colors: byPriority(), View: grafana.Graph{},
			Description: "The probability with which the next call would be shed: the highest of all chosen throttles and instances. It rises within " +
				"seconds (Tiered) to a minute (SRE), and falls as the window forgets. In Shadow and Off it is what Enforce would do. If it stays up " +
				"although the backend accepts everything, see the runbook of ThrottleProbabilityStuck.",
			Targets: []grafana.Target{{Expr: highest(probability().chosen(), priority()), Legend: legend(priority())}},
		},
		{
			Title: "Why calls were shed", Width: 8, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{Stacked: true},
			Colors: []grafana.Color{{Series: "own", Color: bad}, {Series: "above", Color: doubtful}},
			Description: "own: the backend rejects calls of this very priority. above: it rejects calls of a higher one, for which this one makes " +
				"room. Mostly above is a throttle that protects; mostly own is a backend that turns this traffic away for itself.",
			Targets: []grafana.Target{{Expr: sum(rate(calls().chosen(isShed())), cause()), Legend: legend(cause())}},
		},
	}
}

// windowPanels tell what throttles have seen.
func windowPanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Requests and accepts in the window", Width: 12, Unit: "short", NoValue: "no throttle", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "requests", Color: "blue"}, {Series: "accepts", Color: good}},
			Description: "What throttles remember: calls that wanted to go to the backend, and those that it accepted. With SRE they shed when " +
				"requests exceed the accepts more than K times (2 by default). Choose one throttle: a sum of several can hide the one that sheds.",
			Targets: []grafana.Target{
				{Expr: sum(requests().chosen()), Legend: "requests"}, {Expr: sum(accepts().chosen()), Legend: "accepts"},
			},
		},
		{
			Title: "Accepts, of the requests in the window", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no traffic", Colors: byPriority(),
			View: grafana.Graph{},
			Description: "The share of what each priority wanted that the backend accepted, as throttles remember it. Near 1 is health. " +
				"A priority without calls has none.",
			Targets: []grafana.Target{{
				Expr: share(sum(accepts().chosen(), priority()), sum(requests().chosen(), priority())), Legend: legend(priority()),
			}},
		},
	}
}
