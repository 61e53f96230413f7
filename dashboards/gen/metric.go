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

func circuits() metric    { return name(otelthrottle.MetricBreakerCircuits, "") }
func circuit() metric     { return name(otelthrottle.MetricBreakerCircuit, "") }
func transitions() metric { return name(otelthrottle.MetricBreakerTransitions, "_total") }
func decided() metric     { return name(otelthrottle.MetricBreakerCalls, "_total") }
func age() metric         { return name(otelthrottle.MetricBreakerSnapshotAge, "_seconds") }
func leader() metric      { return name(otelthrottle.MetricBreakerLeader, "") }
func failures() metric    { return name(otelthrottle.MetricBreakerFailures, "_total") }

func bucketRequests() metric { return name(otelthrottle.MetricBucketRequests, "_total") }
func bucketTokens() metric   { return name(otelthrottle.MetricBucketTokens, "_total") }
func waiting() metric        { return name(otelthrottle.MetricBucketWaiting, "") }
func storeDuration() metric  { return name(otelthrottle.MetricBucketStoreDuration, "_seconds_bucket") }

func backoffDelay() metric   { return name(otelthrottle.MetricBackoffDelay, "_seconds") }
func backoffSteps() metric   { return name(otelthrottle.MetricBackoffSteps, "_total") }
func backoffCalls() metric   { return name(otelthrottle.MetricBackoffCalls, "_total") }
func backoffWaiting() metric { return name(otelthrottle.MetricBackoffWaiting, "") }
func sleepDuration() metric  { return name(otelthrottle.MetricBackoffSleepDuration, "_seconds_bucket") }

func questions() metric { return name(otelthrottle.MetricBucketStoreDuration, "_seconds_count") }

// The labels.
func throttleName() string { return label(otelthrottle.KeyName) }
func priority() string     { return label(otelthrottle.KeyPriority) }
func decision() string     { return label(otelthrottle.KeyDecision) }
func outcome() string      { return label(otelthrottle.KeyOutcome) }
func cause() string        { return label(otelthrottle.KeyCause) }
func errorType() string    { return label(otelthrottle.KeyErrorType) }

func breakerName() string { return label(otelthrottle.KeyBreakerName) }
func state() string       { return label(otelthrottle.KeyBreakerState) }
func failure() string     { return label(otelthrottle.KeyBreakerFailure) }
func tenant() string      { return label(otelthrottle.KeyBreakerTenant) }
func key() string         { return label(otelthrottle.KeyBreakerKey) }

func bucketName() string { return label(otelthrottle.KeyBucketName) }
func result() string     { return label(otelthrottle.KeyBucketResult) }

func backoffName() string    { return label(otelthrottle.KeyBackoffName) }
func direction() string      { return label(otelthrottle.KeyBackoffDirection) }
func backoffOutcome() string { return label(otelthrottle.KeyBackoffOutcome) }

func label(key attribute.Key) string { return strings.ReplaceAll(string(key), ".", "_") }
