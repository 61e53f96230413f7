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
			Description: "How long a request that arrives at a process waits before it runs, and the wait that the process " +
				"aims at. Below the aim nothing is shed. Near it the process sheds as it should. If the wait stays far above " +
				"it, shedding does not help: see the runbook of ThrottleProcessorWaitHigh.",
			Targets: []grafana.Target{
				{Expr: highest(processorWait().where(selectedJob()...), by...), Legend: name},
				{Expr: highest(processorAim().where(selectedJob()...), by...), Legend: "aim of " + name},
			},
		},
		graphByPriority(probabilities, grafana.Panel{
			Title: "Shed share, cause processor", Width: 12, Unit: "percentunit", Ratio: true, NoValue: withoutServer,
			Description: "The probability that a process sheds a request because requests wait for a processor: the highest " +
				"of the selected instances. Low goes first, and High only if High alone is too much. In Shadow it is the " +
				"value that Enforce would use.",
		}),
		graphByPriority(sum(rate(calls().selected(isShed(), causedByProcessor)), priority()), grafana.Panel{
			Title: "Shed calls, cause processor", Width: 12, Unit: "reqps", NoValue: withoutServer,
			Description: "Requests that the selected throttles have shed because requests wait for a processor. If High " +
				"is among them, add instances or processors. Restart none: the others would get its load.",
		}),
		graph(highest(processorRunnable().where(selectedJob()...), by...), name, grafana.Panel{
			Title: "Runnable goroutines per processor", Width: 12, Unit: "short", NoValue: withoutServer,
			Description: "Goroutines of each process that wait for a processor, divided by GOMAXPROCS. Near 0 is idle. If one " +
				"instance is far above the others, check its load, its CPU quota and what else runs on its node.",
		}),
	}
}
