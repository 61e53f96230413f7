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
		}),
		graph(highest(background().of(), throttleName()), legend(throttleName()), grafana.Panel{
			Title: "Background forgiven", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no Tiered throttle",
		}),
	}
}

func decisionPanels() []grafana.Panel {
	return []grafana.Panel{
		graphByPriority(highest(probability().selected(), priority()), grafana.Panel{
			Title: "Rejection probability", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no throttle",
		}),
		{
			Title: "Window: requests and accepts", Width: 8, Unit: "short", NoValue: "no throttle",
			Colors: []grafana.Color{{Series: "requests", Color: "blue"}, {Series: "accepts", Color: good}},
			Targets: []grafana.Target{
				{Expr: sum(requests().selected()), Legend: "requests"}, {Expr: sum(accepts().selected()), Legend: "accepts"},
			},
		},
		graphByPriority(share(sum(accepts().selected(), priority()), sum(requests().selected(), priority())), grafana.Panel{
			Title: "Window: accepted share by priority", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic",
		}),
	}
}
