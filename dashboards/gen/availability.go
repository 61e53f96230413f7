package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

// availability returns the dashboard of faults by kind, the objective of High and the alerts.
func availability() grafana.Dashboard {
	d := throttleBoard(availabilityUID, "Availability", "Faults of the backends by kind, the objective of High, how "+
		"fast its error budget burns, and the alerts.")
	d.Variables = append(d.Variables, grafana.Choice("objective", "Objective", "The share of High calls that "+
		"should succeed. The alerts use their own, in the rule throttle:error_budget:ratio.",
		"99.9 %", "0.999", "99 %", "0.99", "99.5 %", "0.995", "99.95 %", "0.9995", "99.99 %", "0.9999"))
	d.Rows = []grafana.Row{
		{Title: "Now", Height: 4, Panels: availabilitySummary()},
		{Title: "Alerts", Height: 7, Panels: []grafana.Panel{alertsTable()}},
		{Title: "Faults", Height: 9, Panels: faultPanels()},
		{Title: "Objective of High", Height: 9, Panels: objectivePanels()},
		{Title: "Callers", Height: 9, Panels: []grafana.Panel{callersTable()}},
	}
	return d
}

// failedShare returns the share of High calls that were shed or rejected over a window.
func failedShare(window string, by ...string) string {
	return share(sum(rateOver(calls().of(isHigh(), isFailed()), window), by...),
		sum(rateOver(calls().of(isHigh()), window), by...))
}

// burnRate returns the burn rate of the error budget over a window: 1 is the rate that the
// objective allows.
func burnRate(window string) string { return failedShare(window) + " / (1 - $objective)" }

// availabilitySummary returns the panels with single numbers at the top.
func availabilitySummary() []grafana.Panel {
	const shown = "$__range"
	return []grafana.Panel{
		{
			Title: "High succeeded", Width: 5, Unit: "percentunit", Ratio: true, Decimals: 3, NoValue: "no traffic",
			Steps: []grafana.Step{{Color: bad}, {From: 0.99, Color: warn}, {From: 0.999, Color: good}},
			Description: "The share of High calls, over the time shown, that were neither shed nor rejected. " +
				"Calls with other errors, such as a status of 500, count as success. A call that only its " +
				"fallback saved counts as failure.",
			Links:   []grafana.Link{toOverview()},
			Targets: []grafana.Target{{Expr: "1 - " + failedShare(shown), Instant: true}}, View: grafana.Stat{},
		},
		{
			Title: "Budget left", Width: 5, Unit: "percentunit", Decimals: 1, Signed: true, NoValue: "no traffic",
			Steps: []grafana.Step{{Color: bad}, {From: 0, Color: warn}, {From: 0.5, Color: good}},
			Description: "The share of the error budget that is left over the time shown. Below 0 the objective " +
				"is missed. Select a month to see the budget of a month.",
			Targets: []grafana.Target{{Expr: "1 - " + burnRate(shown), Instant: true}}, View: grafana.Stat{},
		},
		{
			Title: "Burn rate, last hour", Width: 5, Unit: "short", Decimals: 1, NoValue: "no traffic", Steps: thresholds(1, 14.4),
			Description: "How fast the error budget burned in the last hour. At 1 a month's budget lasts a " +
				"month. At 14.4 it lasts two days, and an alert pages.",
			Targets: []grafana.Target{{Expr: burnRate("1h"), Instant: true}}, View: grafana.Stat{},
		},
		{
			Title: "Rejected by the backend", Width: 5, Unit: "percentunit", Ratio: true, Decimals: 1, NoValue: "no answers", Steps: thresholds(0.05, 0.25),
			Description: "The share of the answered calls that the backend rejected, over all selected " +
				"throttles, priorities and kinds. A single kind warns above 5 % and pages above 25 %.",
			Links: []grafana.Link{toOverview()},
			Targets: []grafana.Target{{
				Expr:    share(sum(rate(calls().selected(isRejected()))), sum(rate(calls().selected(isAnswered())))),
				Instant: true,
			}}, View: grafana.Stat{},
		},
		{
			Title: "Alerts firing", Width: 4, Unit: "short", NoValue: "0", Steps: []grafana.Step{{Color: good}, {From: 1, Color: bad}},
			Description: "The number of alerts that fire for the selected throttles. Always 0 in a Prometheus " +
				"without the rules.",
			Targets: []grafana.Target{{Expr: "count(" + alerts(equals("alertstate", "firing")) + ") or vector(0)", Instant: true}},
			View:    grafana.Stat{},
		},
	}
}

// alertsTable returns the table of pending and firing alerts, with links to their runbooks.
func alertsTable() grafana.Panel {
	runbook := grafana.Link{Title: "Runbook", URL: runbooks + "#${__data.fields.alertname}", NewTab: true}
	return grafana.Panel{
		Title: "Alerts", Width: 24, Unit: "short", NoValue: "no alerts, or no rules loaded", View: grafana.Table{SortBy: "State", Ascending: true},
		Description: "Alerts about the selected throttles, and about the breakers, token buckets and backoffs " +
			"of their jobs. Choose a name to open its runbook. Pending alerts fire if the condition lasts. " +
			"Alertmanager may mute some because of a more severe one.",
		Targets: []grafana.Target{{
			Expr:    sum(alerts(), "alertname", "severity", "alertstate", "job", "instance", throttleName(), breakerName(), bucketName(), backoffName(), errorType(), failure(), "window"),
			Instant: true, Table: true,
		}},
		Columns: []grafana.Column{
			{Field: "alertname", Title: "Alert", Links: []grafana.Link{runbook}},
			{Field: "alertstate", Title: "State", Width: 110},
			{Field: "severity", Title: "Severity", Width: 110},
			{Field: throttleName(), Title: "Throttle", Links: []grafana.Link{toThrottle(overviewUID, "What it sheds and why")}},
			{Field: breakerName(), Title: "Breaker", Links: []grafana.Link{toBreaker("What it sheds and why")}},
			{Field: bucketName(), Title: "Bucket", Links: []grafana.Link{toBucket("What it denies, and its store")}},
			{Field: backoffName(), Title: "Backoff", Links: []grafana.Link{toBackoff("Its delay and throttled calls")}},
			{Field: errorType(), Title: "Kind"},
			{Field: failure(), Title: "Failure", Width: 90},
			{Field: "window", Title: "Window", Width: 90},
			{Field: "job", Title: "Job"},
			{Field: "instance", Title: "Instance"},
			{Field: "Value", Title: "Value", Hidden: true},
		},
	}
}

// faultPanels returns the panels about rejected calls and other errors.
func faultPanels() []grafana.Panel {
	faults := sum(rate(calls().selected(isRejected())), errorType())
	return []grafana.Panel{
		{
			Title: "Faults by kind", Width: 8, Unit: "reqps", NoValue: "no faults", Colors: byFault(), View: grafana.Graph{Stacked: true},
			Description: "Calls that the backend rejected. availability: it reports to be unavailable, or " +
				"cannot be reached. timeout: it was too slow. quota: a quota or its capacity is used up. " +
				"canceled: the caller gave up after CanceledAfter. Other kinds appear only if a classifier " +
				"counts them as rejections.",
			Targets: []grafana.Target{{Expr: faults, Legend: legend(errorType())}},
		},
		{
			Title: "Fault share by kind", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no faults", Colors: byFault(),
			Steps: thresholds(0.05, 0.25), View: grafana.Graph{Thresholds: true},
			Description: "Rejected calls as a share of the answered calls. The lines are the thresholds of the " +
				"alerts: 5 % and 25 %. The alerts use each throttle alone. While a throttle sheds, it still " +
				"sends some calls to probe the backend, and those may be rejected.",
			Targets: []grafana.Target{{
				Expr:   faults + " / on () group_left () (" + sum(rate(calls().selected(isAnswered()))) + " > 0)",
				Legend: legend(errorType()),
			}},
		},
		{
			Title: "Errors that are not faults", Width: 8, Unit: "reqps", NoValue: "no errors", View: grafana.Graph{},
			Description: "Calls that ended with an error and count as accepted or ignored, such as not found, " +
				"forbidden or canceled. The throttle does not shed because of them. If _OTHER hides an outage, " +
				"add a classifier that counts it as rejected.",
			Targets: []grafana.Target{{
				Expr:   sum(rate(calls().selected(isSent(), differs(outcome(), throttle.Rejected.String()), differs(errorType(), ""))), errorType()),
				Legend: legend(errorType()),
			}},
		},
	}
}

// objectivePanels returns the panels about the objective of High.
func objectivePanels() []grafana.Panel {
	// Each alert uses two of these: a long window for significance and a short one to end it.
	windows := []string{"5m", "30m", "1h", "2h", "6h", "1d", "3d"}
	now := make([]grafana.Target, 0, len(windows))
	for _, w := range windows {
		now = append(now, grafana.Target{Expr: burnRate(w), Legend: w, Instant: true})
	}
	steps := []grafana.Step{{Color: good}, {From: 1, Color: "yellow"}, {From: 6, Color: warn}, {From: 14.4, Color: bad}}
	return []grafana.Panel{
		{
			Title: "High success and objective", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no traffic", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "succeeded", Color: good}, {Series: "objective", Color: neutral, Dashed: true}},
			Description: "The share of High calls that were neither shed nor rejected, and the objective. A dip " +
				"costs budget by its depth and its length.",
			Targets: []grafana.Target{
				{Expr: "1 - " + failedShare("$__rate_interval"), Legend: "succeeded"},
				{Expr: "vector($objective)", Legend: "objective"},
			},
		},
		{
			Title: "Burn rate", Width: 8, Unit: "short", NoValue: "no traffic", Steps: steps, View: grafana.Graph{Thresholds: true},
			Description: "Burn rates of High over one hour and over six hours. The lines are thresholds of the " +
				"alerts: above 14.4 for one hour, or 6 for six hours, an alert pages.",
			Targets: []grafana.Target{{Expr: burnRate("1h"), Legend: "1h"}, {Expr: burnRate("6h"), Legend: "6h"}},
		},
		{
			Title: "Burn rate by window", Width: 8, Unit: "short", Decimals: 2, NoValue: "no traffic", Steps: steps, View: grafana.Bars{},
			Description: "The current burn rate over every window of the alerts. High over short windows and " +
				"low over long ones: an incident has just begun. The other way round: it is over, and the long " +
				"windows still include it.",
			Targets: now,
		},
	}
}

// callersTable returns the table of what each process gets from each backend.
func callersTable() grafana.Panel {
	by := []string{"job", "instance", throttleName()}
	query := func(conditions ...matcher) grafana.Target {
		return grafana.Target{Expr: sum(rate(calls().selected(conditions...)), by...), Instant: true, Table: true}
	}
	kind := func(of throttle.Fault) grafana.Target {
		return query(isRejected(), equals(errorType(), of.String()))
	}
	return grafana.Panel{
		Title: "Callers", Width: 24, Unit: "reqps", NoValue: "no throttle", View: grafana.Table{SortBy: "Rejected"},
		Description: "The answers that each process gets from each backend. If all processes are affected, " +
			"check the backend. If one is, check that process and its network. canceled has the ignored calls " +
			"too, whose callers gave up early.",
		Targets: []grafana.Target{
			query(), query(isShed()), query(isRejected()),
			kind(throttle.FaultAvailability), kind(throttle.FaultTimeout), kind(throttle.FaultQuota), query(isCanceled()),
		},
		Columns: []grafana.Column{
			{Field: "job", Title: "Job"},
			{Field: "instance", Title: "Instance"},
			{Field: throttleName(), Title: "Throttle", Links: []grafana.Link{toThrottle(overviewUID, "What it sheds and why")}},
			{Field: "Value #A", Title: "Offered", Unit: "reqps"},
			{Field: "Value #B", Title: "Shed", Unit: "reqps"},
			{Field: "Value #C", Title: "Rejected", Unit: "reqps"},
			{Field: "Value #D", Title: "availability", Unit: "reqps"},
			{Field: "Value #E", Title: "timeout", Unit: "reqps"},
			{Field: "Value #F", Title: "quota", Unit: "reqps"},
			{Field: "Value #G", Title: "canceled", Unit: "reqps"},
		},
	}
}
