package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

func reasonPanels() []grafana.Panel {
	return []grafana.Panel{
		graph(sum(metricOf(semconv.MetricPolicyState, "").of(differs(alert(), throttle.NoAlert.String())), alert()), legend(alert()), grafana.Panel{
			Title: "Policy in alert", Width: 12, Unit: "short", NoValue: "no Tiered throttle", View: grafana.Graph{Stacked: true, Short: true},
			Colors: byName(nil, throttle.AlertReason.String, []string{
				throttle.RatioAlert: bad, throttle.GrowthAlert: warn, throttle.FormulaAlert: "purple", throttle.FullAlert: "dark-red", throttle.TrialAlert: "blue",
			}),
		}),
		graph(highest(metricOf(semconv.MetricPolicyBackground, "_ratio").of(), throttleName()), legend(throttleName()),
			ratioPanel("Background forgiven", 12, "no Tiered throttle")),
	}
}

func decisionPanels() []grafana.Panel {
	return []grafana.Panel{
		graphByPriority(highest(probability().selected(), priority()),
			ratioPanel("Rejection probability", 8, "no throttle")),
		{
			Title: "Window: requests and accepts", Width: 8, Unit: "short", NoValue: "no throttle",
			Colors: []grafana.Color{{Series: "requests", Color: "blue"}, {Series: "accepts", Color: good}},
			Targets: []grafana.Target{
				{Expr: sum(requests().selected()), Legend: "requests"}, {Expr: sum(accepts().selected()), Legend: "accepts"},
			},
		},
		graphByPriority(share(sum(accepts().selected(), priority()), sum(requests().selected(), priority())),
			ratioPanel("Window: accepted share by priority", 8, "no traffic")),
	}
}

// withoutTenants is the text of panels that are empty without calls of tenants.
const withoutTenants = "no shed calls with a tenant"

func tenantPanels() []grafana.Panel {
	of := sum(rate(metricOf(semconv.MetricTenantsSheds, "_total").selected()), theThrottle().by()...)
	return []grafana.Panel{
		graph(highest(metricOf(semconv.MetricTenantsAbove, "").selected(), theThrottle().by()...), theThrottle().legend(),
			panelOf("Tenants above their share", 8, "short", withoutTenants)),
		graph(highest(metricOf(semconv.MetricTenantsLargest, "_ratio").selected(), theThrottle().by()...), theThrottle().legend(),
			ratioPanel("Share of the largest tenant", 8, withoutTenants)),
		graph(share(of, sum(rate(calls().selected(isShed())), theThrottle().by()...)), theThrottle().legend(),
			ratioPanel("Shed for their tenant's excess", 8, withoutTenants)),
	}
}

// loadPanels returns the panels about load reports: what servers say that they shed, and what clients shed
// for it.
func loadPanels() []grafana.Panel {
	causedByReports := equals(cause(), throttle.CauseTold.String())
	return []grafana.Panel{
		graphByPriority(highest(metricOf(semconv.MetricLoadSent, "_ratio").selected(), priority()),
			ratioPanel("What servers say that they shed", 8, "no server with Tell")),
		graphByPriority(highest(metricOf(semconv.MetricLoadReceived, "_ratio").selected(), priority()),
			ratioPanel("What clients are to shed for it", 8, "no client with Listen")),
		graphByPriority(sum(rate(calls().selected(isShed(), causedByReports)), priority()),
			panelOf("Shed calls, cause told", 8, "reqps", "no throttle")),
	}
}
