package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

func retries() metric { return metricOf(semconv.MetricRetries, "_total") }

func retryReason() string { return label(semconv.KeyRetryReason) }

// theRetrier is a retrier with the name of a throttle.
func theRetrier() subject { return subject{label: label(semconv.KeyRetryName), variable: "throttle"} }

func (m metric) ofRetry(more ...matcher) string { return m.about(theRetrier(), more) }

// isSentRetry selects retries that were sent, and isDenied failed calls that were not retried.
func isSentRetry() matcher { return equals(label(semconv.KeyRetryResult), semconv.RetrySent) }

func isDenied() matcher { return equals(label(semconv.KeyRetryResult), semconv.RetryDenied) }

// wasSent selects calls of which at least one attempt was sent.
func wasSent() matcher { return differs(label(semconv.KeyRetryAttempts), "0") }

func retryPanels() []grafana.Panel {
	by, name := theRetrier().by(), theRetrier().legend()
	sent, called := sum(rate(retries().ofRetry(isSentRetry())), by...), sum(rate(metricOf(semconv.MetricRetryCalls, "_total").ofRetry(wasSent())), by...)
	return []grafana.Panel{
		graph("1 + "+share(sent, called), name, grafana.Panel{
			Title: "Attempts per call", Width: 8, Unit: "short", Decimals: 2, NoValue: "no retries",
		}),
		{
			Title: "Retries and denials", Width: 8, Unit: "reqps", NoValue: "no retries",
			Targets: []grafana.Target{
				{Expr: sum(rate(retries().ofRetry(isSentRetry()))), Legend: "sent"},
				{Expr: sum(rate(retries().ofRetry(isDenied())), retryReason()), Legend: "denied: " + legend(retryReason())},
			},
		},
		graph(sum(metricOf(semconv.MetricRetryBudget, "").ofRetry(), by...), name, panelOf("Retries left in the budget", 8, "short", "no retries")),
	}
}
