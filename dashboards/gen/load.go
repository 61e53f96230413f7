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
		{
			Title: "What servers say that they shed", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no server with Tell",
			Colors: byPriority(), View: grafana.Graph{InOrder: true},
			Description: "The share of each priority that the selected throttles shed as servers, as they say to their " +
				"clients: the highest one. If their clients listen, it stays near 5 % for the priority that is shed in part.",
			Targets: []grafana.Target{{Expr: byRank(highest(loadSent().selected(), priority())), Legend: legend(priority())}},
		},
		{
			Title: "What clients are to shed for it", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no client with Listen",
			Colors: byPriority(), View: grafana.Graph{InOrder: true},
			Description: "The probability of shedding that the reports of the backend ask for: the highest of the selected " +
				"throttles. It falls to 0 within about two seconds after the backend has stopped to shed. At most 95 %.",
			Targets: []grafana.Target{{Expr: byRank(highest(loadReceived().selected(), priority())), Legend: legend(priority())}},
		},
		{
			Title: "Shed calls, cause told", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(),
			View: grafana.Graph{InOrder: true},
			Description: "Calls that the selected throttles have shed because the backend says that it sheds them. They did " +
				"not reach the backend.",
			Targets: []grafana.Target{{
				Expr: byRank(sum(rate(calls().selected(isShed(), causedByReports)), priority())), Legend: legend(priority()),
			}},
		},
	}
}
