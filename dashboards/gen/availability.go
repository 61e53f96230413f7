package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

// availability returns the dashboard of faults by kind, the objective of High and the alerts.
func availability() grafana.Dashboard {
	return throttleBoard(availabilityUID, "Availability", []string{"Faults by kind", "High failed and objective"},
		grafana.Row{Height: 4, Panels: availabilitySummary()},
		grafana.Row{Title: "Alerts, causes first", Height: 8, Panels: []grafana.Panel{alertsTable(jobScope())}},
		grafana.Row{Title: "Callers", Height: 7, Panels: []grafana.Panel{callersTable()}},
		grafana.Row{Title: "Faults", Height: 10, Panels: faultPanels()},
		grafana.Row{Title: "Objective of High", Height: 10, Panels: objectivePanels()},
		grafana.Row{Title: "Errors that count as success", Height: 10, Collapsed: true, Panels: []grafana.Panel{otherErrors()}})
}

func failedShare(window string, by ...string) string {
	return share(sum(rateOver(calls().of(isHigh(), isFailed()), window), by...),
		sum(rateOver(calls().of(isHigh()), window), by...))
}

// defaultBudget is that of the rules. It is for a Prometheus without them.
const defaultBudget = 0.001

// budget returns the share of the High calls of each service that its objective allows to fail.
func budget() string {
	recorded := metric("throttle:error_budget:ratio").where(inJob()...)
	return fmt.Sprintf("(%s or %v + 0 * %s)", highest(recorded, ofJob()...), defaultBudget, sum(rateOver(calls().of(isHigh()), "1h"), ofJob()...))
}

// burnRate returns the burn rate of the error budget of each throttle over a window: 1 is the rate
// that the objective allows.
func burnRate(window string) string {
	return failedShare(window, theThrottle().by()...) + " / on (cluster, namespace, job) group_left () " + budget()
}

func availabilitySummary() []grafana.Panel {
	by := theThrottle().byProcess()
	answered := sum(rate(calls().selected(isAnswered())), by...)
	rejected := share(orZero(sum(rate(calls().selected(isRejected())), by...), answered), answered)
	succeeded := theThrottle().stat(lowest("1 - "+failedShare("1h", by...)), ratioPanel("High succeeded, 1 h", 5, "no traffic"),
		[]grafana.Step{{Color: bad}, {From: 0.99, Color: warn}, {From: 0.999, Color: good}})
	succeeded.Decimals, succeeded.Links = 2, []grafana.Link{toOverview()}
	budget := theThrottle().stat(lowest("clamp_min(1 - "+burnRate("30d")+", 0)"), ratioPanel("Budget left", 5, "no traffic"),
		[]grafana.Step{{Color: bad}, {From: 0.0001, Color: warn}, {From: 0.5, Color: good}})
	budget.Mappings = []grafana.Mapping{{Value: "0", Text: "spent", Color: bad}}
	burn := theThrottle().stat(worst(burnRate("1h")), panelOf("Burn rate, 1 h", 5, "short", "no traffic"), thresholds(1, 14.4))
	burn.Decimals = 1
	return []grafana.Panel{
		alertsStat(jobScope(), 5), succeeded, budget, burn,
		theThrottle().stat(worst(rejected), ratioPanel("Rejected", 4, "no answers"), thresholds(0.05, 0.25)),
	}
}

func faultPanels() []grafana.Panel {
	faults := sum(rate(calls().selected(isRejected())), errorType())
	return []grafana.Panel{
		graph(faults, legend(errorType()), grafana.Panel{
			Title: "Faults by kind", Width: 8, Unit: "reqps", NoValue: "no faults", Colors: byFault(),
			View: grafana.Graph{Stacked: true, Short: true},
		}),
		graph(highest(faultShares(), errorType()), legend(errorType()), grafana.Panel{
			Title: "Fault share by kind", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no faults", Colors: byFault(),
			Steps: thresholds(0.05, 0.25), View: grafana.Graph{Thresholds: true, Short: true},
		}),
		meaningPanel(),
	}
}

// meaningPanel returns the panel about what rejections say. The counter of overloads has no calls that
// ModeShadow let through.
func meaningPanel() grafana.Panel {
	const full, fails = "the backend says that it is full", "calls fail"
	rejected := sum(rate(calls().selected(isAdmitted(), isRejected())))
	overloaded := orZero(sum(rate(overloads().selected())), rejected)
	return grafana.Panel{
		Title: "What rejections say", Width: 8, Unit: "reqps", NoValue: "no faults",
		Colors: []grafana.Color{{Series: full, Color: warn}, {Series: fails, Color: bad}},
		View:   grafana.Graph{Stacked: true, Short: true},
		Targets: []grafana.Target{
			{Expr: overloaded, Legend: full},
			{Expr: "clamp_min(" + rejected + " - " + overloaded + ", 0)", Legend: fails},
		},
	}
}

func otherErrors() grafana.Panel {
	others := calls().selected(isSent(), differs(outcome(), throttle.Rejected.String()), differs(errorType(), ""))
	return graph(sum(rate(others), errorType()), legend(errorType()),
		panelOf("Errors that are not faults", 24, "reqps", "no errors"))
}

// burnPair is two windows of an alert about the error budget, its factor, and the color of its severity. The long window is for
// significance, and the short one ends the alert.
type burnPair struct {
	long, short string
	factor      float64
	color       string
}

// burnPairs are those of the alerts.
func burnPairs() []burnPair {
	return []burnPair{{"1h", "5m", 14.4, bad}, {"6h", "30m", 6, bad}, {"1d", "2h", 3, warn}, {"3d", "6h", 1, warn}}
}

// toAlert returns the smaller of both burn rates of the worst throttle.
func (p burnPair) toAlert() string {
	long, short := burnRate(p.long), burnRate(p.short)
	return worst("(" + long + " < " + short + " or " + short + ")")
}

func objectivePanels() []grafana.Panel {
	var now []grafana.Target
	var colors []grafana.Color
	for _, p := range burnPairs() {
		name := fmt.Sprintf("%s and %s, alert at %v", p.long, p.short, p.factor)
		now = append(now, grafana.Target{Expr: p.toAlert(), Legend: name})
		colors = append(colors, grafana.Color{Series: name, Steps: []grafana.Step{{Color: good}, {From: p.factor, Color: p.color}}})
	}
	return []grafana.Panel{
		{
			Title: "High failed and objective", Width: 8, Unit: "percentunit", Decimals: 3, Min: leastShare, Ratio: true, NoValue: "no traffic",
			Colors: []grafana.Color{{Series: "objective", Color: bad, Dashed: true}}, View: grafana.Graph{Log: true},
			Targets: []grafana.Target{
				{Expr: fmt.Sprintf("%s >= %v", failedShare("$__rate_interval", theThrottle().by()...), leastShare), Legend: theThrottle().legend()},
				{Expr: "min(" + budget() + ")", Legend: "objective"},
			},
		},
		{
			Title: "Burn rate", Width: 8, Unit: "short", Min: leastRate, NoValue: "no traffic", View: grafana.Graph{Thresholds: true, Log: true},
			Steps: []grafana.Step{{Color: good}, {From: 1, Color: "yellow"}, {From: 6, Color: warn}, {From: 14.4, Color: bad}},
			Targets: []grafana.Target{
				{Expr: atLeast(leastRate, highest(burnRate("1h"))), Legend: "1h"}, {Expr: atLeast(leastRate, highest(burnRate("6h"))), Legend: "6h"},
			},
		},
		{
			Title: "Burn rate by window", Width: 8, Unit: "short", Decimals: 1, NoValue: "no traffic", View: grafana.Bars{},
			Steps: thresholds(1, 14.4), Colors: colors,
			Targets: now,
		},
	}
}

// Logarithmic axes have no 0, so these are their feet.
const (
	leastShare = 0.00001
	leastRate  = 0.01
)

// atLeast returns the values, but not below a limit.
func atLeast(limit float64, expr string) string { return fmt.Sprintf("clamp_min(%s, %v)", expr, limit) }

func callersTable() grafana.Panel {
	by := theThrottle().byProcess()
	offered := sum(rate(calls().selected()), by...)
	rateOf := func(of ...matcher) string { return orZero(sum(rate(calls().selected(of...)), by...), offered) }
	kind := func(title string, width int, of ...matcher) grafana.Column {
		return grafana.Column{Expr: rateOf(of...), Title: title, Unit: "reqps", Width: width}
	}
	rejected := func(f throttle.Fault) []matcher { return conditions(isRejected(), equals(errorType(), f.String())) }
	p := table("Callers", "no throttle", []grafana.Sort{{Title: "Rejected"}, {Title: "Shed"}},
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Field: "instance", Title: "Instance"},
		theThrottle().column(theThrottle().link(overviewUID, "What it sheds and why")),
		grafana.Column{Expr: offered, Title: "Offered", Unit: "reqps", Width: 110},
		grafana.Column{Expr: shedShare(by...), Title: "Shed", Unit: "percentunit", Width: 90, Steps: thresholds(0.05, 0.5)},
		grafana.Column{
			Expr: share(rateOf(isRejected()), rateOf(isAnswered())), Title: "Rejected", Unit: "percentunit", Width: 100,
			Steps: thresholds(0.05, 0.25),
		},
		kind("Availability", 120, rejected(throttle.FaultAvailability)...),
		kind("Timeout", 110, rejected(throttle.FaultTimeout)...),
		kind("Quota", 110, rejected(throttle.FaultQuota)...),
		kind("Canceled", 110, isCanceled()))
	p.Unit = "reqps"
	return p
}
