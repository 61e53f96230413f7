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
			Description: "Offered calls of each process. If one is far above the others, check the load balancing.",
		}),
		graph(share(sum(rate(calls().selected(isShed())), by...), offered), name, grafana.Panel{
			Title: "Shed by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no traffic",
			Description: "The share of calls that each process sheds. If all are alike, the cause is the " +
				"backend, or the load if calls are shed with the cause processor. If one differs, check that process, its " +
				"network and its host.",
		}),
		graph(highest(probability().selected(), by...), name, grafana.Panel{
			Title: "Worst probability by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no throttle",
			Description: "The highest probability of shedding in each process. Each process decides from its " +
				"own window.",
		}),
		graph(sum(process("go_goroutines"), by...)+throttles, name, grafana.Panel{
			Title: "Goroutines", Width: 12, Unit: "short", NoValue: "no Go collector",
			Description: "Goroutines of each process. They rise and fall with the calls in flight. A climb that " +
				"does not end is a leak.",
		}),
		graph(sum(rate(process("process_cpu_seconds_total")), by...)+throttles, name, grafana.Panel{
			Title: "CPU", Width: 12, Unit: "short", NoValue: "no process collector",
			Description: "CPU cores in use. At the CPU limit of the process, calls are slow because of the " +
				"process and not because of the backend.",
		}),
		graph(sum(rate(clamped().of()), theThrottle().byProcess()...), name+" "+legend(throttleName()), grafana.Panel{
			Title: "Calls with an invalid priority", Width: 12, Unit: "reqps", NoValue: "no throttle",
			Description: "Calls with a priority that their throttle does not have. They were treated as the " +
				"lowest priority. Should be 0: find the caller that computes a wrong priority.",
		}),
		graph(aggregate("count", calls().where(selectedJob()...), by), name, grafana.Panel{
			Title: "Series of throttle_calls_total", Width: 12, Unit: "short", NoValue: "no throttle",
			Description: "The number of series of throttle_calls_total in each process, for all throttles. It " +
				"grows with throttles, priorities and error types. Above 2,000 the SDK merges the rest into one.",
		}),
	}
}
