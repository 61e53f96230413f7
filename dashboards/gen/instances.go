package main

import (
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

func instancePanels() []grafana.Panel {
	by := ofJob("instance")
	name := "{{job}} {{instance}}"
	offered := sum(rate(calls().selected()), by...)
	process := func(name string) string { return metric(name).where(selectedJob()...) } // of the collectors of the Prometheus client
	throttles := " and on (" + strings.Join(by, ", ") + ") " + requests().of()          // not of each other job
	return []grafana.Panel{
		graph(offered, name, grafana.Panel{
			Title: "Offered by instance", Width: 12, Unit: "reqps", NoValue: "no throttle",
		}),
		graph(share(sum(rate(calls().selected(isShed())), by...), offered), name, grafana.Panel{
			Title: "Shed by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no traffic",
		}),
		graph(highest(probability().selected(), by...), name, grafana.Panel{
			Title: "Worst probability by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no throttle",
		}),
		graph(sum(process("go_goroutines"), by...)+throttles, name, grafana.Panel{
			Title: "Goroutines", Width: 12, Unit: "short", NoValue: "no Go collector",
		}),
		graph(sum(rate(process("process_cpu_seconds_total")), by...)+throttles, name, grafana.Panel{
			Title: "CPU", Width: 12, Unit: "short", NoValue: "no process collector",
		}),
		graph(sum(rate(clamped().of()), theThrottle().byProcess()...), name+" "+legend(throttleName()), grafana.Panel{
			Title: "Calls with an invalid priority", Width: 12, Unit: "reqps", NoValue: "no throttle",
		}),
		graph(aggregate("count", calls().where(selectedJob()...), by), name, grafana.Panel{
			Title: "Series of throttle_calls_total", Width: 12, Unit: "short", NoValue: "no throttle",
		}),
	}
}
