package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// withoutSlow is the text of panels that are empty without Config.Slow.
const withoutSlow = "no throttle with Slow"

// quantile returns a quantile of the durations of calls, by labels.
func quantile(q float64, conditions []matcher, by ...string) string {
	return quantileOf(q, duration().selected(conditions...), by...)
}

// slowest returns the highest quantile of any throttle in any cluster, by labels.
func slowest(q float64, conditions []matcher, by ...string) string {
	return highest(quantile(q, conditions, append(theThrottle().by(), by...)...), by...)
}

func slowPanels() []grafana.Panel {
	late := sum(rate(slowCalls().selected(equals(slowEvent(), semconv.SlowLate))), theThrottle().by()...)
	sent := sum(rate(calls().selected(isSent())), theThrottle().by()...)
	slow := durations("Duration and Slow", 8, "no durations", func(q float64) string { return slowest(q, nil) }, 0.99, 0.5)
	slow.Colors = append(slow.Colors, grafana.Color{Series: "/^Slow of /", Color: bad, Dashed: true})
	slow.Targets[0].Exemplars = false // Call duration shows them
	slow.Targets = append(slow.Targets, grafana.Target{
		Expr:   highest(metricOf(semconv.MetricSlowThreshold, "_seconds").of(), throttleName(), slowSource()),
		Legend: "Slow of " + legend(throttleName()) + ", " + legend(slowSource()),
	})
	return []grafana.Panel{
		slow,
		graph(share(late, sent), theThrottle().legend(), limited(panelOf("Late share", 8, "percentunit", withoutSlow), thresholds(0.03, 0.1))),
		graph(openAndLimits(), legend("series"), grafana.Panel{
			Title: "Open calls and limit", Width: 8, Unit: "short", NoValue: "no throttle", Colors: limitColors(),
			View: grafana.Graph{InOrder: true, Short: true},
		}),
	}
}

// openAndLimits returns the open calls, and by priority the lowest limit of them that an instance has. Without a limit, which
// is 0, a priority has no series.
func openAndLimits() string {
	open := labelReplace(sum("max_over_time("+metricOf(semconv.MetricSlowOpen, "").of()+"[$__rate_interval])"), "series", "open", "", "")
	limits := aggregate("min", metricOf(semconv.MetricSlowLimit, "").selected()+" > 0", []string{priority()})
	return labelReplace(open, "order", "0", "", "") + " or " + byRank(labelReplace(limits, "series", "limit of $1", priority(), "(.+)"))
}

func limitColors() []grafana.Color {
	all := []grafana.Color{{Series: "open", Color: neutral}}
	for p := range throttle.Priority(throttle.StandardPriorities) {
		of := byPriority()[p]
		all = append(all, grafana.Color{Series: "limit of " + of.Series, Color: of.Color, Dashed: true})
	}
	return all
}

func latePanels() []grafana.Panel {
	return []grafana.Panel{
		graph(sum(rate(slowCalls().selected()), slowEvent()), legend(slowEvent()), grafana.Panel{
			Title: "Late calls by event", Width: 12, Unit: "reqps", NoValue: withoutSlow,
			Colors: []grafana.Color{
				{Series: semconv.SlowLate, Color: warn},
				{Series: semconv.SlowBooked, Color: "purple"},
				{Series: semconv.SlowWrittenOff, Color: bad},
				{Series: semconv.SlowWouldRefuse, Color: "blue"},
			},
		}),
		graph(highest(metricOf(semconv.MetricSlowOldest, "_seconds").of(), theThrottle().by()...), theThrottle().legend(),
			panelOf("Oldest call", 12, "s", withoutSlow)),
	}
}
