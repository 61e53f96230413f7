package main

import "github.com/spillway-go/spillway/dashboards/internal/grafana"

// instancePanels tell processes apart.
func instancePanels() []grafana.Panel {
	by := []string{"job", "instance"}
	name := "{{job}} {{instance}}"
	offered := sum(rate(calls().chosen()), by...)
	return []grafana.Panel{
		{
			Title: "Offered, by instance", Width: 8, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{},
			Description: "Calls made through throttles, by the process that made them. One far above the others is a balance to look into.",
			Targets:     []grafana.Target{{Expr: offered, Legend: name}},
		},
		{
			Title: "Shed, by instance", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", View: grafana.Graph{},
			Description: "The share that each process sheds. All alike is the backend's doing; one alone is that process, its network or its host.",
			Targets:     []grafana.Target{{Expr: share(sum(rate(calls().chosen(isShed())), by...), offered), Legend: name}},
		},
		{
			Title: "Worst probability, by instance", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no throttle", View: grafana.Graph{},
			Description: "The highest probability of shedding in each process. Each decides for itself, from what it has seen.",
			Targets:     []grafana.Target{{Expr: highest(probability().chosen(), by...), Legend: name}},
		},
		{
			Title: "Calls with an impossible priority", Width: 12, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{},
			Description: "Calls that asked for a priority that their throttle does not have, and were treated as the lowest. Should be 0: " +
				"somebody computes a priority wrongly.",
			Targets: []grafana.Target{{Expr: sum(rate(clamped().of()), "job", "instance", throttleName()), Legend: name + " " + legend(throttleName())}},
		},
		{
			Title: "Series of calls", Width: 12, Unit: "short", NoValue: "no throttle", View: grafana.Graph{},
			Description: "How many series the counter of calls has in each process, whatever throttle is chosen. It grows with throttles, priorities and kinds of errors; " +
				"the SDK folds what is beyond 2,000 into one.",
			Targets: []grafana.Target{{Expr: aggregate("count", calls().where(chosenJob()...), by), Legend: name}},
		},
	}
}

// runtimePanels show the processes as Go sees them, from the collectors that the Prometheus client registers by default.
func runtimePanels() []grafana.Panel {
	by := []string{"job", "instance"}
	name := "{{job}} {{instance}}"
	of := func(name string) string { return metric(name).where(chosenJob()...) }
	return []grafana.Panel{
		{
			Title: "Goroutines", Width: 6, Unit: "short", NoValue: "no Go collector", View: grafana.Graph{},
			Description: "Grows with calls in flight, and falls with them. A climb without an end is a leak.",
			Targets:     []grafana.Target{{Expr: sum(of("go_goroutines"), by...), Legend: name}},
		},
		{
			Title: "Heap in use", Width: 6, Unit: "bytes", NoValue: "no Go collector", View: grafana.Graph{},
			Description: "Memory of live and not yet collected objects. Throttles are a few kilobytes each.",
			Targets:     []grafana.Target{{Expr: sum(of("go_memstats_heap_inuse_bytes"), by...), Legend: name}},
		},
		{
			Title: "Time in collection pauses", Width: 6, Unit: "percentunit", NoValue: "no Go collector", View: grafana.Graph{},
			Description: "The share of time in which the garbage collector stops the process. Above a percent it shows in latencies.",
			Targets:     []grafana.Target{{Expr: sum(rate(of("go_gc_duration_seconds_sum")), by...), Legend: name}},
		},
		{
			Title: "Processor", Width: 6, Unit: "short", NoValue: "no process collector", View: grafana.Graph{},
			Description: "Cores in use. At what the process may have, its own queue is what makes calls slow, and no backend.",
			Targets:     []grafana.Target{{Expr: sum(rate(of("process_cpu_seconds_total")), by...), Legend: name}},
		},
	}
}
