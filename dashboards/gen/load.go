package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

func loadSent() metric     { return name(semconv.MetricLoadSent, "_ratio") }
func loadReceived() metric { return name(semconv.MetricLoadReceived, "_ratio") }

// loadPanels returns the panels about load reports: what servers say that they shed, and what clients shed
// for it.
func loadPanels() []grafana.Panel {
	causedByReports := equals(cause(), throttle.CauseTold.String())
	return []grafana.Panel{
		graphByPriority(highest(loadSent().selected(), priority()), grafana.Panel{
			Title: "What servers say that they shed", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no server with Tell",
		}),
		graphByPriority(highest(loadReceived().selected(), priority()), grafana.Panel{
			Title: "What clients are to shed for it", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no client with Listen",
		}),
		graphByPriority(sum(rate(calls().selected(isShed(), causedByReports)), priority()), grafana.Panel{
			Title: "Shed calls, cause told", Width: 8, Unit: "reqps", NoValue: "no throttle",
		}),
	}
}
