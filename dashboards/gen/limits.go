package main

import (
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

func limits() grafana.Dashboard {
	return newBoard(limitsUID, "Limits",
		theBucket().variables(bucketRequests(), "token buckets", "Processes with one store share its tokens. ", "A limit, with one bucket per key."),
		[]grafana.Annotation{
			beginnings(theBucket().scope(), "Requests by result", "Store failures by policy"), theBucket().changes("Requests by result"),
		},
		grafana.Row{Height: 4, Panels: bucketSummary()},
		grafana.Row{Title: "Token buckets and alerts, worst first", Height: 5, Panels: []grafana.Panel{bucketsTable()}},
		grafana.Row{Height: 7, Panels: []grafana.Panel{alertsTable(theBucket().scope())}},
		grafana.Row{Title: "Requests and tokens", Height: 10, Panels: append(requestPanels(), tokenPanels()...)},
		grafana.Row{Title: "Stores of token buckets", Height: 10, Panels: storePanels()},
		grafana.Row{Title: "Token buckets, per instance", Height: 10, Collapsed: true, Panels: bucketInstancePanels()})
}

// limitOf returns the rate of each limit. Processes with one store share it. Without a store in use,
// each process has the whole limit.
func limitOf() string {
	by := strings.Join(theBucket().by(), ", ")
	return "(" + highest(bucketLimit().ofBucket(), theBucket().by()...) + " and on (" + by + ") " + countOf(storeRequests().ofBucket(), theBucket().by()...) +
		" or " + sum(bucketLimit().ofBucket(), theBucket().by()...) + ")"
}

// used returns the tokens granted, as a share of the limit of one key.
func used() string {
	return sum(rate(bucketTokens().ofBucket()), theBucket().by()...) + " / " + limitOf()
}

// requestShare returns the share of requests for tokens that had one of the results.
func requestShare(results []string, by ...string) string {
	return share(sum(rate(bucketRequests().ofBucket(withResult(results...))), by...), sum(rate(bucketRequests().ofBucket()), by...))
}

// withoutStore returns the results of requests that a policy decided.
func withoutStore() []string {
	return []string{semconv.ResultFailedOpen, semconv.ResultFailedClosed, semconv.ResultShareGranted, semconv.ResultShareDenied}
}

// withoutStoreSteps warn only: what it means depends on the policy, and a page is an alert.
func withoutStoreSteps() []grafana.Step { return from(0.01, warn) }

// answeredShare returns the share of requests to stores that were answered. The series of answers
// begins with the first answer; until then the share is 0.
func answeredShare(by ...string) string {
	asked := countOf(storeRequests().ofBucket(notCanceled()), by...)
	return share(orZero(countOf(storeRequests().ofBucket(withoutError()), by...), asked), asked)
}

// storeQuantile returns a quantile of how long stores took to answer or to fail, by labels.
func storeQuantile(q float64, by ...string) string {
	return quantileOf(q, metricOf(semconv.MetricBucketStoreDuration, "_seconds_bucket").ofBucket(notCanceled()), by...)
}

func bucketSummary() []grafana.Panel {
	of, by := theBucket(), theBucket().byProcess()
	utilization := of.stat(worst(used()), ratioPanel("Utilization", 4, "no requests"), from(0.8, warn))
	utilization.Ratio = false // it may be more than 1
	return []grafana.Panel{
		alertsStat(of.scope(), 4),
		utilization,
		of.stat(worst(requestShare([]string{semconv.ResultDenied}, by...)), ratioPanel("Denied", 3, "no requests"), from(0.5, warn)),
		of.stat(lowest(answeredShare(by...)), ratioPanel("Stores answered", 5, "no store"),
			[]grafana.Step{{Color: bad}, {From: 0.5, Color: warn}, {From: 0.99, Color: good}}),
		of.stat(worst(requestShare(withoutStore(), by...)), ratioPanel("No store", 4, "no requests"), withoutStoreSteps()),
		of.stat(worst(requestShare([]string{semconv.ResultFailedClosed}, by...)), ratioPanel("Failed closed", 4, "no requests"), thresholds(0.01, 0.25)),
	}
}

// Units of rates that are not requests.
const (
	tokenRate = "suffix:tokens/s"
	stepRate  = "suffix:steps/s"
)

func bucketsTable() grafana.Panel {
	by := theBucket().by()
	denied := requestShare([]string{semconv.ResultDenied}, by...)
	return table("Buckets", "no token bucket", []grafana.Sort{{Title: "No store"}, {Title: "Denied"}},
		theBucket().column(theBucket().alone()),
		grafana.Column{Field: "job", Title: "Job"},
		grafana.Column{Expr: sum(rate(bucketRequests().ofBucket()), by...), Title: "Requests", Unit: "reqps", Width: 110},
		grafana.Column{Expr: denied, Title: "Denied", Unit: "percentunit", Width: 90, Steps: from(0.5, warn)},
		grafana.Column{Expr: requestShare(withoutStore(), by...), Title: "No store", Unit: "percentunit", Width: 110, Steps: withoutStoreSteps()},
		grafana.Column{Expr: sum(rate(bucketTokens().ofBucket()), by...), Title: "Tokens", Unit: tokenRate, Width: 120},
		grafana.Column{Expr: limitOf(), Title: "Limit", Unit: tokenRate, Width: 120},
		grafana.Column{Expr: used(), Title: "Utilization", Unit: "percentunit", Width: 120, Steps: from(0.8, warn)},
		grafana.Column{Expr: highest(metricOf(semconv.MetricBucketCapacity, "").ofBucket(), by...), Title: "Burst", Unit: "short", Width: 80},
		grafana.Column{Expr: sum(bucketWaiting().ofBucket(), by...), Title: "Waiting", Unit: "short", Width: 90},
		grafana.Column{Expr: "(" + storeQuantile(0.99, by...) + ") >= 0", Title: "Store, p99", Unit: "s", Width: 110})
}

func requestPanels() []grafana.Panel {
	return []grafana.Panel{
		graph(sum(rate(bucketRequests().ofBucket()), result()), legend(result()), grafana.Panel{
			Title: "Requests by result", Width: 12, Unit: "reqps", NoValue: "no token bucket", Colors: byResult(), View: grafana.Graph{Stacked: true, Short: true},
		}),
		graph(requestShare([]string{semconv.ResultDenied}, theBucket().by()...), theBucket().legend(),
			limited(ratioPanel("Denied share by bucket", 12, "no requests"), from(0.5, warn))),
	}
}

func tokenPanels() []grafana.Panel {
	by := theBucket().by()
	name := theBucket().legend()
	return []grafana.Panel{
		{
			Title: "Tokens per second by bucket", Width: 12, Unit: tokenRate, NoValue: "no token bucket",
			Colors: []grafana.Color{{Series: "/ limit$/", Color: neutral, Dashed: true}},
			Targets: []grafana.Target{
				{Expr: sum(rate(bucketTokens().ofBucket()), by...), Legend: name}, {Expr: limitOf(), Legend: name + " limit"},
			},
		},
		graph(sum(bucketWaiting().ofBucket(), by...), name, panelOf("Waiting by bucket", 12, "short", "no token bucket")),
	}
}

func storePanels() []grafana.Panel {
	return []grafana.Panel{
		durations("Store duration", 8, "no requests to a store", func(q float64) string { return storeQuantile(q) }, 0.99, 0.95, 0.5),
		graph(countOf(storeRequests().ofBucket(differs(errorType(), "")), errorType()), legend(errorType()), grafana.Panel{
			Title: "Store failures by kind", Width: 8, Unit: "reqps", NoValue: "no failures", Colors: byFault(), View: grafana.Graph{Short: true},
		}),
		graph(sum(rate(bucketRequests().ofBucket(withResult(withoutStore()...))), result())+" > 0", legend(result()), grafana.Panel{
			Title: "Store failures by policy", Width: 8, Unit: "reqps", NoValue: "no failures", Colors: byResult()[2:],
		}),
	}
}

func bucketInstancePanels() []grafana.Panel {
	by := ofJob("instance")
	name := "{{job}} {{instance}}"
	return []grafana.Panel{
		graph(sum(rate(bucketRequests().ofBucket()), by...), name,
			panelOf("Requests by instance", 12, "reqps", "no token bucket")),
		graph(requestShare(withoutStore(), by...), name, ratioPanel("Without a store by instance", 12, "no requests")),
		graph(storeQuantile(0.99, by...), name, panelOf("Store p99 by instance", 12, "s", "no requests to a store")),
	}
}
