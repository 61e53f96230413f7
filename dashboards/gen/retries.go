package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

func retries() metric     { return name(semconv.MetricRetries, "_total") }
func retryCalls() metric  { return name(semconv.MetricRetryCalls, "_total") }
func retryBudget() metric { return name(semconv.MetricRetryBudget, "") }

func retryName() string   { return label(semconv.KeyRetryName) }
func retryReason() string { return label(semconv.KeyRetryReason) }

// theRetrier is a retrier with the name of a throttle.
func theRetrier() subject { return subject{label: retryName(), variable: "throttle"} }

func (m metric) ofRetry(more ...matcher) string { return m.about(theRetrier(), more) }

// isSentRetry selects retries that were sent, and isDenied failed calls that were not retried.
func isSentRetry() matcher { return equals(label(semconv.KeyRetryResult), semconv.RetrySent) }

func isDenied() matcher { return equals(label(semconv.KeyRetryResult), semconv.RetryDenied) }

// wasSent selects calls of which at least one attempt was sent.
func wasSent() matcher { return differs(label(semconv.KeyRetryAttempts), "0") }

func retryPanels() []grafana.Panel {
	by, name := theRetrier().by(), theRetrier().legend()
	sent, called := sum(rate(retries().ofRetry(isSentRetry())), by...), sum(rate(retryCalls().ofRetry(wasSent())), by...)
	return []grafana.Panel{
		graph("1 + "+share(sent, called), name, grafana.Panel{
			Title: "Attempts per call", Width: 8, Unit: "short", Decimals: 2, NoValue: "no retries",
			Description: "How much retries multiply the load: 1 is no retry. The default budget allows about 1.1. " +
				"Above 1.2 for ten minutes an alert warns.",
		}),
		{
			Title: "Retries and denials", Width: 8, Unit: "reqps", NoValue: "no retries",
			Description: "Retries that were sent, and failed calls that were not retried, by reason. Those denied " +
				"for budget are what the budget has saved the backend.",
			Targets: []grafana.Target{
				{Expr: sum(rate(retries().ofRetry(isSentRetry()))), Legend: "sent"},
				{Expr: sum(rate(retries().ofRetry(isDenied())), retryReason()), Legend: "denied: " + legend(retryReason())},
			},
		},
		graph(sum(retryBudget().ofRetry(), by...), name, grafana.Panel{
			Title: "Retries left in the budget", Width: 8, Unit: "short", NoValue: "no retries",
			Description: "Retries that the budgets of all hosts and processes have left. Near 0 while the backend " +
				"accepts calls means that the budget is too small for the errors that it has.",
		}),
	}
}
