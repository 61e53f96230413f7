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
		{
			Title: "Offered by instance", Width: 12, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{},
			Description: "Offered calls of each process. If one is far above the others, check the load balancing.",
			Targets:     []grafana.Target{{Expr: offered, Legend: name}},
		},
		{
			Title: "Shed by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no traffic", View: grafana.Graph{},
			Description: "The share of calls that each process sheds. If all are alike, the cause is the " +
				"backend, or the load if calls are shed with the cause processor. If one differs, check that process, its " +
				"network and its host.",
			Targets: []grafana.Target{{Expr: share(sum(rate(calls().selected(isShed())), by...), offered), Legend: name}},
		},
		{
			Title: "Worst probability by instance", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no throttle", View: grafana.Graph{},
			Description: "The highest probability of shedding in each process. Each process decides from its " +
				"own window.",
			Targets: []grafana.Target{{Expr: highest(probability().selected(), by...), Legend: name}},
		},
		{
			Title: "Goroutines", Width: 12, Unit: "short", NoValue: "no Go collector", View: grafana.Graph{},
			Description: "Goroutines of each process. They rise and fall with the calls in flight. A climb that " +
				"does not end is a leak.",
			Targets: []grafana.Target{{Expr: sum(process("go_goroutines"), by...) + throttles, Legend: name}},
		},
		{
			Title: "CPU", Width: 12, Unit: "short", NoValue: "no process collector", View: grafana.Graph{},
			Description: "CPU cores in use. At the CPU limit of the process, calls are slow because of the " +
				"process and not because of the backend.",
			Targets: []grafana.Target{{Expr: sum(rate(process("process_cpu_seconds_total")), by...) + throttles, Legend: name}},
		},
		{
			Title: "Calls with an invalid priority", Width: 12, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{},
			Description: "Calls with a priority that their throttle does not have. They were treated as the " +
				"lowest priority. Should be 0: find the caller that computes a wrong priority.",
			Targets: []grafana.Target{{Expr: sum(rate(clamped().of()), theThrottle().byProcess()...), Legend: name + " " + legend(throttleName())}},
		},
		{
			Title: "Series of throttle_calls_total", Width: 12, Unit: "short", NoValue: "no throttle", View: grafana.Graph{},
			Description: "The number of series of throttle_calls_total in each process, for all throttles. It " +
				"grows with throttles, priorities and error types. Above 2,000 the SDK merges the rest into one.",
			Targets: []grafana.Target{{Expr: aggregate("count", calls().where(selectedJob()...), by), Legend: name}},
		},
	}
}
