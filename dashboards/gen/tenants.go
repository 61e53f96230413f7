package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

func tenantsAbove() metric   { return name(semconv.MetricTenantsAbove, "") }
func tenantsLargest() metric { return name(semconv.MetricTenantsLargest, "_ratio") }
func tenantsSheds() metric   { return name(semconv.MetricTenantsSheds, "_total") }

// withoutTenants is the text of panels that are empty without calls of tenants.
const withoutTenants = "no shed calls with a tenant"

func tenantPanels() []grafana.Panel {
	of := sum(rate(tenantsSheds().selected()), theThrottle().by()...)
	return []grafana.Panel{
		graph(highest(tenantsAbove().selected(), theThrottle().by()...), theThrottle().legend(), grafana.Panel{
			Title: "Tenants above their share", Width: 8, Unit: "short", NoValue: withoutTenants,
		}),
		graph(highest(tenantsLargest().selected(), theThrottle().by()...), theThrottle().legend(), grafana.Panel{
			Title: "Share of the largest tenant", Width: 8, Unit: "percentunit", Ratio: true, NoValue: withoutTenants,
		}),
		graph(share(of, sum(rate(calls().selected(isShed())), theThrottle().by()...)), theThrottle().legend(), grafana.Panel{
			Title: "Shed for their tenant's excess", Width: 8, Unit: "percentunit", Ratio: true, NoValue: withoutTenants,
		}),
	}
}
