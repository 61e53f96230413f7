package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

func reasonPanels() []grafana.Panel {
	return []grafana.Panel{
		graph(sum(policyState().of(differs(alert(), throttle.NoAlert.String())), alert()), legend(alert()), grafana.Panel{
			Title: "Policy in alert", Width: 12, Unit: "short", NoValue: "no Tiered throttle", View: grafana.Graph{Stacked: true, Short: true},
			Colors: []grafana.Color{
				{Series: throttle.RatioAlert.String(), Color: bad},
				{Series: throttle.GrowthAlert.String(), Color: warn},
				{Series: throttle.FormulaAlert.String(), Color: "purple"},
				{Series: throttle.FullAlert.String(), Color: "dark-red"},
				{Series: throttle.TrialAlert.String(), Color: "blue"},
			},
			Description: "Throttles that take rejections for overload, by reason. ratio: more rejections than " +
				"30 % of errors explain. growth: more rejections and more calls than before. formula: the " +
				"documented formula sheds. full: the backend says that it is full. " +
				"trial: fewer calls for seconds, to see whether rejections are errors or load. Without an " +
				"alert a throttle sheds like SRE. If growth lasts and the backend has capacity, set Tuning.Background.",
		}),
		graph(highest(background().of(), throttleName()), legend(throttleName()), grafana.Panel{
			Title: "Background forgiven", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no Tiered throttle",
			Description: "The share of the calls whose rejection counts as an error, not as overload: the " +
				"highest of the selected throttles. Tiered measures it while it is quiet, and forgives it " +
				"during an alert. Compare with the rejected calls on a good day.",
		}),
	}
}

func decisionPanels() []grafana.Panel {
	return []grafana.Panel{
		graphByPriority(highest(probability().selected(), priority()), grafana.Panel{
			Title: "Rejection probability", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no throttle",
			Description: "The probability of shedding the next call: the highest of all selected throttles and " +
				"instances. It rises within seconds (Tiered) to a minute (SRE), and falls as the window moves " +
				"on. In Shadow and Off it is the value that Enforce would use. If it stays up while the backend " +
				"accepts all calls, see the runbook of ThrottleProbabilityStuck.",
		}),
		{
			Title: "Window: requests and accepts", Width: 8, Unit: "short", NoValue: "no throttle",
			Colors: []grafana.Color{{Series: "requests", Color: "blue"}, {Series: "accepts", Color: good}},
			Description: "The window of the throttles: calls that asked to be sent, and calls that the backend " +
				"accepted. SRE sheds if requests are more than K times the accepts (2 by default). Select one " +
				"throttle: the sum of several can hide the one that sheds.",
			Targets: []grafana.Target{
				{Expr: sum(requests().selected()), Legend: "requests"}, {Expr: sum(accepts().selected()), Legend: "accepts"},
			},
		},
		graphByPriority(share(sum(accepts().selected(), priority()), sum(requests().selected(), priority())), grafana.Panel{
			Title: "Window: accepted share by priority", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic",
			Description: "The accepted share of the requests in the window, by priority. Near 100 % is healthy. " +
				"A priority without calls has no line.",
		}),
	}
}
