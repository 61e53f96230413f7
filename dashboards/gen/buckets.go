package main

import (
	"fmt"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle"
)

// ofRequests returns the share of all requests for tokens that came to one of the results.
func ofRequests(results []string, by ...string) string {
	return share(sum(rate(bucketRequests().ofBucket(came(results...))), by...), sum(rate(bucketRequests().ofBucket()), by...))
}

// uncounted returns the share of what was granted that no store has counted.
func uncounted(by ...string) string {
	return share(sum(rate(bucketRequests().ofBucket(came(otelthrottle.ResultFailedOpen))), by...),
		sum(rate(bucketRequests().ofBucket(came(otelthrottle.ResultGranted, otelthrottle.ResultFailedOpen))), by...))
}

// answered returns the share of the questions to stores that were answered. Its upper half begins with the first answer, and is 0 until
// then.
func answered(by ...string) string {
	asked := sum(rate(questions().ofBucket(isAsked())), by...)
	return share("("+sum(rate(questions().ofBucket(hasAnswer())), by...)+" or 0 * "+asked+")", asked)
}

// storeQuantile returns a quantile of how long stores took, failures too, in a series per value of the labels.
func storeQuantile(q float64, by ...string) string {
	return fmt.Sprintf("histogram_quantile(%v, %s)", q, sum(rate(storeDuration().ofBucket(isAsked())), append([]string{"le"}, by...)...))
}

// bucketsNow are the numbers to see first: is anybody denied, and do the stores answer?
func bucketsNow() []grafana.Panel {
	stat := func(title, unit, noValue string, steps []grafana.Step, description string, target grafana.Target) grafana.Panel {
		return grafana.Panel{
			Title: title, Width: 4, Unit: unit, Ratio: unit == "percentunit", NoValue: noValue, Steps: steps, Description: description,
			Targets: []grafana.Target{target}, View: grafana.Stat{Sparkline: !target.Instant},
		}
	}
	now := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true} }
	return []grafana.Panel{
		stat("Requests", "reqps", "no token bucket", nil, "Requests for tokens, of all chosen buckets, whatever came of them. Those in Wait count when they "+
			"are over. Much more than on a good day may be callers that ask again at once when they are denied.",
			grafana.Target{Expr: sum(rate(bucketRequests().ofBucket()))}),
		stat("Denied", "percentunit", "no requests", []grafana.Step{{Color: good}, {From: 0.5, Color: doubtful}}, "The share of the requests for "+
			"which there were not tokens enough. To deny is what a bucket is for; above a half, for an hour, the limit and the demand do not fit.",
			now(ofRequests([]string{otelthrottle.ResultDenied}))),
		stat("Waiting", "short", "no token bucket", nil, "Requests that stand in line for tokens, in Wait. A line that only grows is a limit below what is "+
			"wanted, on and on: those in it wait longer and longer, until their deadlines end it.",
			grafana.Target{Expr: sum(waiting().ofBucket())}),
		stat("Stores answered", "percentunit", "not asked", []grafana.Step{{Color: bad}, {From: 0.5, Color: doubtful}, {From: 0.99, Color: good}},
			"The share of the questions to stores that were answered in time; buckets in memory ask none. A store that failed thrice in a row is left alone "+
				"for moments, so few questions fail, and many requests with each: see the two numbers beside this one.",
			now(answered())),
		stat("Not limited", "percentunit", "nothing granted", from(0.01, 0.5), "The share of what was granted that no store has counted, because it "+
			"gave no answer. FailOpen grants it all; LocalShare grants it out of a share of each process. Should be 0. Above a half somebody is paged.",
			now(uncounted())),
		stat("Refused without a store", "percentunit", "no requests", from(0.01, 0.25), "The share of the requests that the policy refused, because the "+
			"store gave no answer: FailClosed all, LocalShare what exceeds the share. Should be 0: callers fail although there may "+
			"be tokens. Above 25 % somebody is paged.",
			now(ofRequests([]string{otelthrottle.ResultFailedClosed}))),
	}
}

// bucketsTable is where to find the bucket that is to blame.
func bucketsTable() grafana.Panel {
	by := []string{"job", bucketName()}
	query := func(expr string) grafana.Target { return grafana.Target{Expr: expr, Instant: true, Table: true} }
	return grafana.Panel{
		Title: "Buckets", Width: 24, Unit: "short", NoValue: "no token bucket", View: grafana.Table{SortBy: "Without a store"},
		Description: "Each limit of each job, under its name: all its keys together. Choose a name to see it alone. One in memory has no store " +
			"that takes time. A name without requests has no shares.",
		Targets: []grafana.Target{
			query(sum(rate(bucketRequests().ofBucket()), by...)),
			query(ofRequests([]string{otelthrottle.ResultDenied}, by...)),
			query(ofRequests([]string{otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed}, by...)),
			query(sum(rate(bucketTokens().ofBucket()), by...)),
			query(sum(waiting().ofBucket(), by...)),
			query(storeQuantile(0.99, by...) + " >= 0"),
		},
		Columns: []grafana.Column{
			{Field: bucketName(), Title: "Bucket", Links: []grafana.Link{toBucket("This bucket alone")}},
			{Field: "job", Title: "Job"},
			{Field: "Value #A", Title: "Requests", Unit: "reqps"},
			{Field: "Value #B", Title: "Denied", Unit: "percentunit", Steps: []grafana.Step{{Color: good}, {From: 0.5, Color: doubtful}}},
			{Field: "Value #C", Title: "Without a store", Unit: "percentunit", Steps: from(0.01, 0.25)},
			{Field: "Value #D", Title: "Tokens a second", Unit: "short"},
			{Field: "Value #E", Title: "Waiting", Unit: "short"},
			{Field: "Value #F", Title: "Store, p99", Unit: "s"},
		},
	}
}

// requestPanels tell what became of requests for tokens.
func requestPanels() []grafana.Panel {
	by := []string{"job", bucketName()}
	name := "{{job}} " + legend(bucketName())
	return []grafana.Panel{
		{
			Title: "What became of requests", Width: 12, Unit: "reqps", NoValue: "no token bucket", Colors: byResult(), View: grafana.Graph{Stacked: true},
			Description: "Requests by their end: granted or denied by whoever keeps the tokens, or failed_open or failed_closed, decided by the policy because " +
				"the store gave no answer. In a rush granted should stay flat at the limit, and denied take the rest.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket()), result()), Legend: legend(result())}},
		},
		{
			Title: "Denied, of what was requested", Width: 12, Unit: "percentunit", Ratio: true, NoValue: "no requests",
			Steps: []grafana.Step{{Color: good}, {From: 0.5, Color: doubtful}}, View: grafana.Graph{Thresholds: true},
			Description: "The share of its requests that each bucket denied. One that is high all day belongs to callers that ask again instead of waiting " +
				"for RetryAfter, or has a limit that is too small. The line is where the alert begins.",
			Targets: []grafana.Target{{Expr: ofRequests([]string{otelthrottle.ResultDenied}, by...), Legend: name}},
		},
		{
			Title: "Granted, by bucket", Width: 12, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{Stacked: true},
			Description: "Requests that got their tokens, of each bucket, also those that no store has counted. A flat top is a limit that is reached; " +
				"a step above it is a store that gives no answer, and FailOpen.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket(came(otelthrottle.ResultGranted, otelthrottle.ResultFailedOpen))), by...), Legend: name}},
		},
		{
			Title: "Denied, by bucket", Width: 12, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{Stacked: true},
			Description: "Requests for which there were not tokens enough, of each bucket. Much more than is granted are mostly callers that ask again " +
				"at once. Which keys it were, the hook Denied is told: keys are in no metric.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket(came(otelthrottle.ResultDenied))), by...), Legend: name}},
		},
	}
}

// tokenPanels tell how tokens are spent.
func tokenPanels() []grafana.Panel {
	by := []string{"job", bucketName()}
	name := "{{job}} " + legend(bucketName())
	return []grafana.Panel{
		{
			Title: "Tokens a second, by bucket", Width: 12, Unit: "short", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Tokens that were granted, of each name, all its keys together: what the limit lets through. Of one key alone it settles at the " +
				"limit's rate. Tokens that were given back again are counted all the same.",
			Targets: []grafana.Target{{Expr: sum(rate(bucketTokens().ofBucket()), by...), Legend: name}},
		},
		{
			Title: "Waiting, by bucket", Width: 12, Unit: "short", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Requests that stand in line, in Wait. Lines are each process's own, and are added up here. Of short rushes a line is no harm; one that " +
				"does not end should have fewer callers or more tokens.",
			Targets: []grafana.Target{{Expr: sum(waiting().ofBucket(), by...), Legend: name}},
		},
	}
}

// storePanels tell how the stores are, and what it means that they are not well.
func storePanels() []grafana.Panel {
	return []grafana.Panel{
		{
			Title: "How long stores took", Width: 8, Unit: "s", NoValue: "in memory, or not asked", View: grafana.Graph{},
			Colors: []grafana.Color{{Series: "p50", Color: "blue"}, {Series: "p95", Color: doubtful}, {Series: "p99", Color: bad}},
			Description: "Quantiles of how long stores took to answer, or to fail. Each request pays this. Nothing is waited for longer than Config.StoreTimeout, 50 ms " +
				"by default: quantiles above it are failures. Dots are traces, of requests that asked alone.",
			Targets: []grafana.Target{
				{Expr: storeQuantile(0.99), Legend: "p99", Exemplars: true},
				{Expr: storeQuantile(0.95), Legend: "p95"},
				{Expr: storeQuantile(0.5), Legend: "p50"},
			},
		},
		{
			Title: "Store failures, by kind", Width: 8, Unit: "reqps", NoValue: "no failures", Colors: byFault(), View: grafana.Graph{},
			Description: "Questions to stores that were not answered. timeout: it was too slow for Config.StoreTimeout. availability: it says no, or cannot " +
				"be reached. _OTHER is often a table or a right that is missing. canceled is a caller who went away, and no failure.",
			Targets: []grafana.Target{{Expr: sum(rate(questions().ofBucket(isNot(errorType(), ""))), errorType()), Legend: legend(errorType())}},
		},
		{
			Title: "Failures, by policy", Width: 8, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Requests that the policy decided, because the store gave no answer. failed_open were granted, by FailOpen all of them, by LocalShare out " +
				"of the process's own share; failed_closed were refused. Should be 0; for seconds it is a store that fails over.",
			Targets: []grafana.Target{{
				Expr:   sum(rate(bucketRequests().ofBucket(came(otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed))), "job", bucketName(), result()),
				Legend: "{{job}} " + legend(bucketName()) + " " + legend(result()),
			}},
		},
	}
}

// bucketInstancePanels tell processes apart.
func bucketInstancePanels() []grafana.Panel {
	by := []string{"job", "instance"}
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		{
			Title: "Requests, by instance", Width: 8, Unit: "reqps", NoValue: "no token bucket", View: grafana.Graph{},
			Description: "Requests for tokens, by the process that made them. Those that share a store share its tokens: who asks more gets more.",
			Targets:     []grafana.Target{{Expr: sum(rate(bucketRequests().ofBucket()), by...), Legend: name}},
		},
		{
			Title: "Without a store, by instance", Width: 8, Unit: "percentunit", Ratio: true, NoValue: "no requests", View: grafana.Graph{},
			Description: "The share of its requests that each process decided without its store. All alike is the store; one alone is that process, its " +
				"network or its pool of connections.",
			Targets: []grafana.Target{{Expr: ofRequests([]string{otelthrottle.ResultFailedOpen, otelthrottle.ResultFailedClosed}, by...), Legend: name}},
		},
		{
			Title: "Store p99, by instance", Width: 8, Unit: "s", NoValue: "in memory, or not asked", View: grafana.Graph{},
			Description: "How long the slowest hundredth of each process's questions to stores took. One that is slower than its sisters is far from " +
				"the store, or short of processor.",
			Targets: []grafana.Target{{Expr: storeQuantile(0.99, by...), Legend: name}},
		},
	}
}
