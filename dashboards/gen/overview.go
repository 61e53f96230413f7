package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

// overview returns the dashboard to start with: which calls fail and why, by throttle, priority and cause.
func overview() grafana.Dashboard {
	return throttleBoard(overviewUID, "Overview", []string{"Calls by outcome", "Failed share by priority"},
		grafana.Row{Height: 5, Panels: []grafana.Panel{servicesTable()}},
		grafana.Row{Height: 4, Panels: summaryPanels()},
		grafana.Row{Height: 8, Panels: []grafana.Panel{throttlesTable()}},
		grafana.Row{Height: 6, Panels: []grafana.Panel{alertsTable(throttleScope())}},
		grafana.Row{Title: "Calls", Height: 10, Panels: callPanels()},
		grafana.Row{Title: "Failed calls and causes", Height: 10, Panels: hurtPanels()},
		grafana.Row{Title: "Latency", Height: 10, Collapsed: true, Panels: slices.Concat(slowPanels(), latePanels())},
		grafana.Row{Title: "Wait for a processor", Height: 10, Collapsed: true, Panels: processorPanels()},
		grafana.Row{Title: "What servers say and what clients do", Height: 10, Collapsed: true, Panels: loadPanels()},
		grafana.Row{Title: "Why does it shed", Height: 10, Collapsed: true, Panels: slices.Concat(reasonPanels(), decisionPanels(), tenantPanels())},
		grafana.Row{Title: "Admitted calls and retries", Height: 10, Collapsed: true, Panels: slices.Concat(admittedPanels(), retryPanels())},
		grafana.Row{Title: "Settings", Height: 10, Collapsed: true, Panels: settingsPanels()},
		grafana.Row{Title: "Per instance", Height: 10, Collapsed: true, Panels: instancePanels()})
}

func shedShare(by ...string) string {
	return share(sum(rate(calls().selected(isShed())), by...), sum(rate(calls().selected()), by...))
}

// acceptedShare returns the share of the answered calls that the backend accepted.
func acceptedShare(by ...string) string {
	answered := sum(rate(calls().selected(isAnswered())), by...)
	return share(orZero(sum(rate(calls().selected(isAccepted())), by...), answered), answered)
}

// hurtShare returns the share of the offered calls that failed for lack of capacity: shed, rejected,
// or timed out whatever the classifier says.
func hurtShare(selected func(...matcher) string, by ...string) string {
	offered := sum(rate(selected()), by...)
	well := sum(rate(selected(isNotFailed(), differs(errorType(), throttle.FaultTimeout.String()))), by...)
	return "clamp_min(1 - " + orZero(well, offered) + " / (" + offered + " > 0), 0)"
}

// highCalls selects the High calls, for all priorities selected.
func highCalls(more ...matcher) string { return calls().of(append(conditions(isHigh()), more...)...) }

// faultShares returns the share of each kind of faults in the answers of each throttle and process.
func faultShares() string {
	answered := sum(rate(calls().selected(isAnswered())), theThrottle().byProcess()...)
	faults := sum(rate(calls().selected(isRejected())), append(theThrottle().byProcess(), errorType())...)
	return faults + " / on (" + strings.Join(theThrottle().byProcess(), ", ") + ") group_left () (" + answered + " > 0)"
}

// topFault returns the kind of faults with the largest share of the answers of any throttle.
func topFault() string {
	kinds := labelReplace(faultShares(), errorType(), "no kind", errorType(), "")
	return worst(kinds+" > 0") + " or on () " + labelReplace("0 * "+sum(rate(calls().selected())), errorType(), "none", "", "")
}

func summaryPanels() []grafana.Panel {
	fault := theThrottle().stat(topFault(), ratioPanel("Top fault", 5, "no throttle"), thresholds(0.05, 0.25))
	fault.Targets[0].Legend = legend(errorType())
	fault.Links = []grafana.Link{toAvailability()}
	high := theThrottle().stat(worst(hurtShare(highCalls, theThrottle().byProcess()...)), ratioPanel("High failed", 5, "no traffic"), thresholds(0.001, 0.01))
	high.Decimals, high.Links = 2, []grafana.Link{toAvailability()}
	return []grafana.Panel{
		alertsStat(throttleScope(), 5, toAvailability()),
		high,
		fault,
		theThrottle().stat(worst(shedShare(theThrottle().byProcess()...)), ratioPanel("Shed", 5, "no traffic"), thresholds(0.05, 0.5)),
		{
			Title: "Offered", Width: 4, Unit: "reqps", NoValue: "no throttle", View: grafana.Stat{},
			Targets: []grafana.Target{{Expr: sum(rate(calls().selected())), Legend: "offered"}},
		},
	}
}

func throttlesTable() grafana.Panel {
	by := theThrottle().by()
	sent := sum(rate(calls().selected(isSent())), by...)
	canceled := share(orZero(sum(rate(calls().selected(isCanceled())), by...), sent), sent)
	return table("Throttles", "no throttle", []grafana.Sort{{Title: "High failed"}, {Title: "Shed"}},
		theThrottle().column(theThrottle().alone(), theThrottle().link(availabilityUID, "Its faults")),
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Expr: sum(rate(calls().selected()), by...), Title: "Offered", Unit: "reqps", Width: 110},
		grafana.Column{Expr: hurtShare(highCalls, by...), Title: "High failed", Unit: "percentunit", Width: 120, Steps: thresholds(0.001, 0.01)},
		grafana.Column{Expr: shedShare(by...), Title: "Shed", Unit: "percentunit", Width: 90, Steps: thresholds(0.05, 0.5)},
		grafana.Column{Expr: acceptedShare(by...), Title: "Accepted", Unit: "percentunit", Width: 100},
		grafana.Column{Expr: canceled, Title: "Canceled", Unit: "percentunit", Width: 100, Steps: thresholds(0.5, 0.9)},
		grafana.Column{Expr: sum(active().selected(), by...), Title: "In flight", Unit: "short", Width: 100},
		notEnforcing(by))
}

// legend returns the name of a series by the value of a label.
func legend(label string) string { return "{{" + label + "}}" }

// shadowSuffix ends the name of a series of calls that only Shadow let through.
const shadowSuffix = " in shadow"

// callsByOutcome returns the rates of calls by outcome. Canceled calls have an outcome of their own.
func callsByOutcome() string {
	canceled := sum(rate(calls().selected(isCanceled())))
	return sum(rate(calls().selected(notCanceled())), outcome()) +
		fmt.Sprintf(" or label_replace(%s, %q, %q, \"\", \"\")", canceled, outcome(), throttle.FaultCanceled.String())
}

func callPanels() []grafana.Panel {
	return []grafana.Panel{
		graph(callsByOutcome(), legend(outcome()), grafana.Panel{
			Title: "Calls by outcome", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byOutcome(),
			View: grafana.Graph{Stacked: true, Short: true},
		}),
		graphByPriority(sum(rate(calls().selected(isSent())), priority()),
			panelOf("Admitted by priority", 8, "reqps", "no throttle")),
		{
			Title: "Shed by priority", Width: 8, Unit: "reqps", NoValue: "no throttle", Colors: byPriority(shadowSuffix),
			View: grafana.Graph{InOrder: true, Short: true},
			Targets: []grafana.Target{
				{Expr: byRank(sum(rate(calls().selected(isShed())), priority())), Legend: legend(priority())},
				{Expr: byRank(sum(rate(calls().selected(isShadow())), priority()) + " > 0"), Legend: legend(priority()) + shadowSuffix},
			},
		},
	}
}

func hurtPanels() []grafana.Panel {
	failed := highest(hurtShare(calls().selected, append(theThrottle().byProcess(), priority())...), priority())
	return []grafana.Panel{
		graphByPriority(failed, ratioPanel("Failed share by priority", 8, "no traffic")),
		graph(sum(rate(calls().selected(isShed())), cause()), legend(cause()), grafana.Panel{
			Title: "Shed by cause", Width: 8, Unit: "reqps", NoValue: "no throttle", View: grafana.Graph{Stacked: true, Short: true},
			Colors: byName(nil, throttle.Cause.String, []string{
				throttle.CauseOwn: bad, throttle.CauseAbove: warn, throttle.CauseLimit: "purple", throttle.CauseProcessor: "blue", throttle.CauseTold: "green",
			}),
		}),
		durations("Call duration", 8, "no durations", func(q float64) string { return slowest(q, nil) }, 0.99, 0.95, 0.5),
	}
}

// admittedPanels returns the panels about admitted calls: durations by priority, calls in flight and
// fallbacks.
func admittedPanels() []grafana.Panel {
	return []grafana.Panel{
		graphByPriority(slowest(0.99, []matcher{isAccepted()}, priority()),
			panelOf("p99 of accepted calls by priority", 8, "s", "no durations")),
		graphByPriority(sum("max_over_time("+active().selected()+"[$__rate_interval])", priority()),
			panelOf("In flight by priority", 8, "short", "no throttle")),
		{
			Title: "Fallbacks", Width: 8, Unit: "reqps", NoValue: "no fallbacks",
			Colors: []grafana.Color{{Series: "/, served$/", Color: good}, {Series: "/, failed with /", Color: bad}},
			Targets: []grafana.Target{
				{Expr: sum(rate(fallbacks().selected(equals(errorType(), ""))), outcome()), Legend: legend(outcome()) + ", served"},
				{
					Expr:   sum(rate(fallbacks().selected(differs(errorType(), ""))), outcome(), errorType()),
					Legend: legend(outcome()) + ", failed with " + legend(errorType()),
				},
			},
		},
	}
}
