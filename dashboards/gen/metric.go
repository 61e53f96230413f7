package main

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle"
)

// metric is a metric as Prometheus calls it. Its unit and its kind make an ending, as the Prometheus exporter and the collector both
// have it by default.
type metric string

// name returns what Prometheus makes of a name of OpenTelemetry.
func name(of, ending string) metric {
	return metric(strings.ReplaceAll(of, ".", "_") + ending)
}

func calls() metric       { return name(otelthrottle.MetricCalls, "_total") }
func duration() metric    { return name(otelthrottle.MetricCallDuration, "_seconds_bucket") }
func active() metric      { return name(otelthrottle.MetricCallActive, "") }
func probability() metric { return name(otelthrottle.MetricRejectionProbability, "_ratio") }
func requests() metric    { return name(otelthrottle.MetricWindowRequests, "") }
func accepts() metric     { return name(otelthrottle.MetricWindowAccepts, "") }
func fallbacks() metric   { return name(otelthrottle.MetricFallbacks, "_total") }
func clamped() metric     { return name(otelthrottle.MetricPriorityClamped, "_total") }

// The labels.
func throttleName() string { return label(otelthrottle.KeyName) }
func priority() string     { return label(otelthrottle.KeyPriority) }
func decision() string     { return label(otelthrottle.KeyDecision) }
func outcome() string      { return label(otelthrottle.KeyOutcome) }
func cause() string        { return label(otelthrottle.KeyCause) }
func errorType() string    { return label(otelthrottle.KeyErrorType) }

func label(key attribute.Key) string { return strings.ReplaceAll(string(key), ".", "_") }
