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
			Description: "How many tenants of a priority take more than their fair share, by throttle, of the process and " +
				"priority with most of them. Few mean that some callers send too much. Many mean that the load of all has grown, or that the " +
				"backend can do less. The status page of a process lists them.",
		}),
		graph(highest(tenantsLargest().selected(), theThrottle().by()...), theThrottle().legend(), grafana.Panel{
			Title: "Share of the largest tenant", Width: 8, Unit: "percentunit", Ratio: true, NoValue: withoutTenants,
			Description: "The share of the calls of a priority that its largest tenant has asked for in the last 30 s in which calls " +
				"might have been shed, by throttle, of the process and priority with the highest. If it climbs when the shedding begins, that tenant is why.",
		}),
		graph(share(of, sum(rate(calls().selected(isShed())), theThrottle().by()...)), theThrottle().legend(), grafana.Panel{
			Title: "Shed for their tenant's excess", Width: 8, Unit: "percentunit", Ratio: true, NoValue: withoutTenants,
			Description: "The share of the shed calls whose tenant took more than its fair share, by throttle. Near 100 % means that " +
				"the others are spared. Much less means that tenants do not differ, or that calls have no tenant.",
		}),
	}
}
