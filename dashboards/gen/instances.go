package main

import (
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

func instancePanels() []grafana.Panel {
	by := ofJob("instance")
	name := "{{job}} {{instance}}"
	offered := sum(rate(calls().selected()), by...)
	process := func(name string) string { return metric(name).where(selectedJob()...) } // of the collectors of the Prometheus client
	throttles := " and on (" + strings.Join(by, ", ") + ") " + requests().of()          // not of each other job
	return []grafana.Panel{
		graph(offered, name, panelOf("Offered by instance", 12, "reqps", "no throttle")),
		graph(share(sum(rate(calls().selected(isShed())), by...), offered), name,
			ratioPanel("Shed by instance", 12, "no traffic")),
		graph(highest(probability().selected(), by...), name,
			ratioPanel("Worst probability by instance", 12, "no throttle")),
		graph(sum(process("go_goroutines"), by...)+throttles, name, panelOf("Goroutines", 12, "short", "no Go collector")),
		graph(sum(rate(process("process_cpu_seconds_total")), by...)+throttles, name,
			panelOf("CPU", 12, "short", "no process collector")),
		graph(sum(rate(metricOf(semconv.MetricPriorityClamped, "_total").of()), theThrottle().byProcess()...), name+" "+legend(throttleName()),
			panelOf("Calls with an invalid priority", 12, "reqps", "no throttle")),
		graph(aggregate("count", calls().where(selectedJob()...), by), name,
			panelOf("Series of throttle_calls_total", 12, "short", "no throttle")),
	}
}

// withoutServer is the text of panels that are empty for processes that serve no calls.
const withoutServer = "no server with a throttle"

// processorPanels returns the panels about calls that wait for a processor of the process that serves
// them. Its throttles share one wait, so most ignore the selected throttles.
func processorPanels() []grafana.Panel {
	by, name := ofJob("instance"), "{{job}} {{instance}}"
	probabilities := highest(metricOf(semconv.MetricProcessorProbability, "_ratio").where(append(selectedJob(), selectedPriority())...), priority())
	causedByProcessor := equals(cause(), throttle.CauseProcessor.String())
	return []grafana.Panel{
		{
			Title: "Wait for a processor by instance", Width: 12, Unit: "s", NoValue: withoutServer,
			Colors: []grafana.Color{{Series: "/^aim of /", Color: bad, Dashed: true}},
			Targets: []grafana.Target{
				{Expr: highest(metricOf(semconv.MetricProcessorWait, "_seconds").where(selectedJob()...), by...), Legend: name},
				{Expr: highest(metricOf(semconv.MetricProcessorAim, "_seconds").where(selectedJob()...), by...), Legend: "aim of " + name},
			},
		},
		graphByPriority(probabilities, ratioPanel("Shed share, cause processor", 12, withoutServer)),
		graphByPriority(sum(rate(calls().selected(isShed(), causedByProcessor)), priority()),
			panelOf("Shed calls, cause processor", 12, "reqps", withoutServer)),
		graph(highest(metricOf(semconv.MetricProcessorRunnable, "").where(selectedJob()...), by...), name,
			panelOf("Runnable goroutines per processor", 12, "short", withoutServer)),
	}
}
