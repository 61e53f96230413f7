package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle"
)

// limits returns the dashboard of token buckets, their stores, and backoffs.
func limits() grafana.Dashboard {
	d := limitsBoard(limitsUID, "Limits", "Which token buckets deny requests, how fast tokens are spent, how "+
		"many requests wait, whether the stores answer, and how far workers back off from services that "+
		"throttle them.")
	d.Rows = []grafana.Row{
		{Title: "Token buckets now", Height: 4, Panels: bucketSummary()},
		{Title: "Token buckets, worst first", Height: 8, Panels: []grafana.Panel{bucketsTable()}},
		{Title: "Requests for tokens", Height: 9, Panels: requestPanels()},
		{Title: "Tokens", Height: 9, Panels: tokenPanels()},
		{Title: "Stores of token buckets", Height: 9, Panels: storePanels()},
		{Title: "Backoff", Height: 9, Panels: backoffPanels()},
		{Title: "Token buckets, per instance", Height: 9, Collapsed: true, Panels: bucketInstancePanels()},
		{Title: "Backoff, waiting and instances", Height: 9, Collapsed: true, Panels: backoffInstancePanels()},
	}
	return d
}

// requestShare returns the share of requests for tokens that had one of the results.
func requestShare(results []string, by ...string) string {
	return share(sum(rate(bucketRequests().ofBucket(withResult(results...))), by...), sum(rate(bucketRequests().ofBucket()), by...))
}

// failedOpenShare returns the share of grants that no store has counted.
func failedOpenShare(by ...string) string {
	return share(sum(rate(bucketRequests().ofBucket(withResult(otelthrottle.ResultFailedOpen))), by...),
		sum(rate(bucketRequests().ofBucket(withResult(otelthrottle.ResultGranted, otelthrottle.ResultFailedOpen))), by...))
}

// answeredShare returns the share of requests to stores that were answered. The series of answers
// begins with the first answer; until then the share is 0.
func answeredShare(by ...string) string {
	asked := sum(rate(storeRequests().ofBucket(notCanceled())), by...)
	return share("("+sum(rate(storeRequests().ofBucket(withoutError())), by...)+" or 0 * "+asked+")", asked)
}

// storeQuantile returns a quantile of how long stores took to answer or to fail, by labels.
func storeQuantile(q float64, by ...string) string {
	return fmt.Sprintf("histogram_quantile(%v, %s)", q, sum(rate(storeDuration().ofBucket(notCanceled())), append([]string{"le"}, by...)...))
}

// bucketSummary returns the panels with single numbers at the top.
func bucketSummary() []grafana.Panel {
	stat := func(title, unit, noValue string, steps []grafana.Step, description string, target grafana.Target) grafana.Panel {
		return grafana.Panel{
			Title: title, Width: 4, Unit: unit, Ratio: unit == "percentunit", NoValue: noValue, Steps: steps, Description: description,
			Targets: []grafana.Target{target}, View: grafana.Stat{Sparkline: !target.Instant},
		}
	}
	now := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true} }
	return []grafana.Panel{
		stat("Requests", "reqps", "no token bucket", nil, "Requests for tokens of all selected buckets, with "+
			"any result. Requests in Wait count when they end. Much more than on a normal day may be callers "+
			"that retry at once when they are denied.",
			grafana.Target{Expr: sum(rate(bucketRequests().ofBucket()))}),
		stat("Denied", "percentunit", "no requests", []grafana.Step{{Color: good}, {From: 0.5, Color: warn}}, "The "+
			"share of the requests that were denied for lack of tokens. Denying is normal for a bucket. Above "+
			"50 % for an hour, the limit is too low for the demand.",
			now(requestShare([]string{otelthrottle.ResultDenied}))),
		stat("Waiting", "short", "no token bucket", nil, "Requests that wait for tokens, in Wait. If this only "+
			"grows, the demand is above the limit, and requests wait until their deadlines.",
			grafana.Target{Expr: sum(bucketWaiting().ofBucket())}),
		stat("Stores answered", "percentunit", "no store requests", []grafana.Step{{Color: bad}, {From: 0.5, Color: warn}, {From: 0.99, Color: good}},
			"The share of the requests to stores that were answered in time. Buckets in memory send none. A "+
				"store that failed three times in a row gets no requests for moments, so a few failures here "+
				"affect many requests: see the two panels to the right.",
			now(answeredShare())),
		stat("Failed open", "percentunit", "nothing granted", thresholds(0.01, 0.5), "The share of grants that no "+
			"store has counted, because the store did not answer. FailOpen grants all requests. LocalShare "+
			"grants a share per process. Should be 0. Above 50 % an alert pages.",
			now(failedOpenShare())),
		stat("Failed closed", "percentunit", "no requests", thresholds(0.01, 0.25), "The share of requests "+
			"that were refused because the store did not answer. FailClosed refuses all of them. LocalShare "+
			"refuses those above the share of the process. Should be 0: callers fail although there may be "+
			"tokens. Above 25 % an alert pages.",
			now(requestShare([]string{otelthrottle.ResultFailedClosed}))),
	}
}

// bucketsTable returns the table of token buckets, most requests without a store first.
func bucketsTable() grafana.Panel {
	by := []string{"job", bucketName()}
	query := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true, Table: true} }
	return grafana.Panel{
		Title: "Buckets", Width: 24, Unit: "short", NoValue: "no token bucket", View: grafana.Table{SortBy: "Without a store"},
		Description: "Each limit of each job by name, with all its keys. Choose a name to select only that " +
			"limit. A bucket in memory has no store duration. A name without requests has no shares.",
		Targets: []grafana.Target{
			query(sum(rate(bucketRequests().ofBucket()), by...)),
			query(requestShare([]string{otelthrottle.ResultDenied}, by...)),
			query(requestShare([]string{otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed}, by...)),
			query(sum(rate(bucketTokens().ofBucket()), by...)),
			query(sum(bucketWaiting().ofBucket(), by...)),
			query(storeQuantile(0.99, by...) + " >= 0"),
		},
		Columns: []grafana.Column{
			{Field: bucketName(), Title: "Bucket", Links: []grafana.Link{toBucket("Only this bucket")}},
			{Field: "job", Title: "Job"},
			{Field: "Value #A", Title: "Requests", Unit: "reqps"},
			{Field: "Value #B", Title: "Denied", Unit: "percentunit", Steps: []grafana.Step{{Color: good}, {From: 0.5, Color: warn}}},
			{Field: "Value #C", Title: "Without a store", Unit: "percentunit", Steps: thresholds(0.01, 0.25)},
			{Field: "Value #D", Title: "Tokens per second", Unit: "short"},
			{Field: "Value #E", Title: "Waiting", Unit: "short"},
			{Field: "Value #F", Title: "Store, p99", Unit: "s"},
		},
	}
}

// requestPanels returns the panels about granted and denied requests.
func requestPanels() []grafana.Panel {
	by := []string{"job", bucketName()}
	name := "{{job}} " + legend(bucketName())
	return []grafana.Panel{
		{
			Title: "Requests by result", Width: 12, Unit: "reqps", NoValue: "no token bucket", Colors: byResult(), View: grafana.Graph{Stacked: true},
			Description: "granted and denied were decided with the store or in memory. failed_open and " +
				"failed_closed were decided by the policy, because the store did not answer. Under load granted " +
				"should stay at the limit, and denied be the rest.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket()), result()), Legend: legend(result())}},
		},
		{
			Title: "Denied share by bucket", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no requests",
			Steps: []grafana.Step{{Color: good}, {From: 0.5, Color: warn}}, View: grafana.Graph{Thresholds: true},
			Description: "The share of requests that each bucket denied. If it is high all day, callers retry " +
				"and do not wait for RetryAfter, or the limit is too low. The line is the threshold of the " +
				"alert.",
			Targets: []grafana.Target{{Expr: requestShare([]string{otelthrottle.ResultDenied}, by...), Legend: name}},
		},
		{
			Title: "Granted by bucket", Width: 12, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{Stacked: true},
			Description: "Requests that each bucket granted, including those that no store has counted. A flat " +
				"top is a limit that is reached. A step above it is a store that does not answer, with FailOpen.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket(withResult(otelthrottle.ResultGranted, otelthrottle.ResultFailedOpen))), by...), Legend: name}},
		},
		{
			Title: "Denied by bucket", Width: 12, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{Stacked: true},
			Description: "Requests that each bucket denied for lack of tokens. If this is much more than is " +
				"granted, callers usually retry at once. The hook Denied gets the keys; they are in no metric.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket(withResult(otelthrottle.ResultDenied))), by...), Legend: name}},
		},
	}
}

// tokenPanels returns the panels about tokens and waiting requests.
func tokenPanels() []grafana.Panel {
	by := []string{"job", bucketName()}
	name := "{{job}} " + legend(bucketName())
	return []grafana.Panel{
		{
			Title: "Tokens per second by bucket", Width: 12, Unit: "short", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Tokens that were granted, by name, with all keys. For a single key this settles at " +
				"the rate of the limit. Tokens that were given back are counted too.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketTokens().ofBucket()), by...), Legend: name}},
		},
		{
			Title: "Waiting by bucket", Width: 12, Unit: "short", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Requests that wait for tokens, in Wait, added up over all processes. A short queue " +
				"after a burst is harmless. If it does not end, use fewer callers or a higher limit.",
			Targets: []grafana.Target{{Expr: sum(bucketWaiting().ofBucket(), by...), Legend: name}},
		},
	}
}

// storePanels returns the panels about stores and their failures.
func storePanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "Store duration", Width: 8, Unit: "s", NoValue: "in memory, or no requests", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p95", Color: warn}, {Series: "p99", Color: bad}},
			Description: "Quantiles of the time that stores took to answer or to fail. Each request waits that " +
				"long, but at most Config.StoreTimeout, 50 ms by default: quantiles at that value are failures. " +
				"The dots are traces of requests that were sent to the store alone.",
			Targets: []grafana.Target{
				{Expr: storeQuantile(0.99), Legend: "p99", Exemplars: true},
				{Expr: storeQuantile(0.95), Legend: "p95"},
				{Expr: storeQuantile(0.5), Legend: "p50"},
			},
		},
		{
			Title: "Store failures by kind", Width: 8, Unit: "reqps", NoValue: "no failures", Colors: byFault(), View: grafana.Graph{},
			Description: "Requests to stores without an answer. timeout: slower than Config.StoreTimeout. " +
				"availability: the store reports to be unavailable, or cannot be reached. _OTHER is often a " +
				"missing table or permission. canceled is a caller that gave up, and not a failure.",
			Targets: []grafana.Target{{Expr: sum(rate(storeRequests().ofBucket(differs(errorType(), ""))), errorType()), Legend: legend(errorType())}},
		},
		{
			Title: "Store failures by policy", Width: 8, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Requests that the policy decided because the store did not answer. failed_open were " +
				"granted: all by FailOpen, a share per process by LocalShare. failed_closed were refused. " +
				"Should be 0. For a few seconds it is a store that fails over.",
			Targets: []grafana.Target{{
				Expr:   sum(rate(bucketRequests().ofBucket(withResult(otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed))), "job", bucketName(), result()),
				Legend: "{{job}} " + legend(bucketName()) + " " + legend(result()),
			}},
		},
	}
}

// bucketInstancePanels returns the panels about single processes.
func bucketInstancePanels() []grafana.Panel {
	by := []string{"job", "instance"}
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		{
			Title: "Requests by instance", Width: 8, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Requests for tokens of each process. Processes that share a store share its tokens: a " +
				"process with more requests gets more of them.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket()), by...), Legend: name}},
		},
		{
			Title: "Without a store by instance", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no requests", View: grafana.Graph{},
			Description: "The share of requests that each process decided without its store. If all are alike, " +
				"check the store. If one differs, check that process, its network and its connection pool.",
			Targets: []grafana.Target{{Expr: requestShare([]string{otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed}, by...), Legend: name}},
		},
		{
			Title: "Store p99 by instance", Width: 8, Unit: "s", NoValue: "in memory, or no requests", View: grafana.Graph{},
			Description: "The p99 of the requests of each process to its stores. A process that is slower than " +
				"the others is far from the store or lacks CPU.",
			Targets: []grafana.Target{{Expr: storeQuantile(0.99, by...), Legend: name}},
		},
	}
}
