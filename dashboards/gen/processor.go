package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// withoutServer is the text of panels that are empty for processes that serve no calls.
const withoutServer = "no server with a throttle"

func processorWait() metric        { return name(semconv.MetricProcessorWait, "_seconds") }
func processorAim() metric         { return name(semconv.MetricProcessorAim, "_seconds") }
func processorRunnable() metric    { return name(semconv.MetricProcessorRunnable, "") }
func processorProbability() metric { return name(semconv.MetricProcessorProbability, "_ratio") }

// processorPanels returns the panels about calls that wait for a processor of the process that serves
// them. Its throttles share one wait, so most ignore the selected throttles.
func processorPanels() []grafana.Panel {
	by, name := ofJob("instance"), "{{job}} {{instance}}"
	probabilities := highest(processorProbability().where(append(selectedJob(), selectedPriority())...), priority())
	causedByProcessor := equals(cause(), throttle.CauseProcessor.String())
	return []grafana.Panel{
		{
			Title: "Wait for a processor by instance", Width: 12, Unit: "s", NoValue: withoutServer,
			Colors: []grafana.Color{{Series: "/^aim of /", Color: bad, Dashed: true}},
			Targets: []grafana.Target{
				{Expr: highest(processorWait().where(selectedJob()...), by...), Legend: name},
				{Expr: highest(processorAim().where(selectedJob()...), by...), Legend: "aim of " + name},
			},
		},
		graphByPriority(probabilities, grafana.Panel{
			Title: "Shed share, cause processor", Width: 12, Unit: "percentunit", Ratio: true, NoValue: withoutServer,
		}),
		graphByPriority(sum(rate(calls().selected(isShed(), causedByProcessor)), priority()), grafana.Panel{
			Title: "Shed calls, cause processor", Width: 12, Unit: "reqps", NoValue: withoutServer,
		}),
		graph(highest(processorRunnable().where(selectedJob()...), by...), name, grafana.Panel{
			Title: "Runnable goroutines per processor", Width: 12, Unit: "short", NoValue: withoutServer,
		}),
	}
}
