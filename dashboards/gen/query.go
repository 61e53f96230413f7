package main

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
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

// matcher is a condition on a label.
type matcher string

func is(label, value string) matcher    { return matcher(label + `="` + value + `"`) }
func isNot(label, value string) matcher { return matcher(label + `!="` + value + `"`) }
func like(label, value string) matcher  { return matcher(label + `=~"` + value + `"`) }

// chosenJob is what is chosen at the top of a dashboard of where throttles run.
func chosenJob() []matcher { return []matcher{like("job", "$job"), like("instance", "$instance")} }

// chosenThrottle is what is chosen of the throttles. Their names are their users' own, and may have quotes in them, which
// Grafana does not escape by itself. Hence the format regex, and the raw string.
func chosenThrottle() matcher { return matcher(throttleName() + "=~`${throttle:regex}`") }

// chosenBreaker is the same for breakers.
func chosenBreaker() matcher { return matcher(breakerName() + "=~`${breaker:regex}`") }

// chosenBucket is the same for token buckets.
func chosenBucket() matcher { return matcher(bucketName() + "=~`${bucket:regex}`") }

// chosenBackoff is the same for backoffs.
func chosenBackoff() matcher { return matcher(backoffName() + "=~`${backoff:regex}`") }

// optional lets pass what is chosen, and what has no such label. The format regex needs a raw string.
func optional(label, variable string) matcher {
	return matcher(label + "=~`(${" + variable + ":regex})?`")
}

// chosenPriority is what is chosen of the priorities.
func chosenPriority() matcher { return like(priority(), "$priority") }

// of returns the metric of the chosen throttles, all priorities, where all conditions hold.
func (m metric) of(conditions ...matcher) string {
	return m.where(append(append(chosenJob(), chosenThrottle()), conditions...)...)
}

// chosen returns the metric of the chosen throttles and priorities, where all conditions hold.
func (m metric) chosen(conditions ...matcher) string {
	return m.of(append([]matcher{chosenPriority()}, conditions...)...)
}

// ofBreaker returns the metric of the chosen breakers, where all conditions hold.
func (m metric) ofBreaker(conditions ...matcher) string {
	return m.where(append(append(chosenJob(), chosenBreaker()), conditions...)...)
}

// ofBucket returns the metric of the chosen token buckets, where all conditions hold.
func (m metric) ofBucket(conditions ...matcher) string {
	return m.where(append(append(chosenJob(), chosenBucket()), conditions...)...)
}

// ofBackoff returns the metric of the chosen backoffs, where all conditions hold.
func (m metric) ofBackoff(conditions ...matcher) string {
	return m.where(append(append(chosenJob(), chosenBackoff()), conditions...)...)
}

// either selects several metrics, where all conditions hold.
func either(metrics []metric, conditions ...matcher) string {
	names := make([]string, 0, len(metrics))
	for _, m := range metrics {
		names = append(names, string(m))
	}
	return metric("").where(append([]matcher{like("__name__", strings.Join(names, "|"))}, conditions...)...)
}

// where returns the metric, where all conditions hold.
func (m metric) where(conditions ...matcher) string {
	texts := make([]string, 0, len(conditions))
	for _, c := range conditions {
		texts = append(texts, string(c))
	}
	return string(m) + "{" + strings.Join(texts, ",") + "}"
}

// The conditions that calls are told apart by. All together were offered; those that Shadow would have shed were sent like those that were
// admitted, and bear the outcome that they had.
func isSent() matcher     { return isNot(decision(), otelthrottle.DecisionShed) }
func isShed() matcher     { return is(decision(), otelthrottle.DecisionShed) }
func isShadow() matcher   { return is(decision(), otelthrottle.DecisionShadowShed) }
func isAccepted() matcher { return is(outcome(), throttle.Accepted.String()) }
func isRejected() matcher { return is(outcome(), throttle.Rejected.String()) }
func isHigh() matcher     { return is(priority(), throttle.High.String()) }

// isAnswered is what the backend has given a verdict on; a call that was ignored says nothing about it.
func isAnswered() matcher {
	return like(outcome(), throttle.Accepted.String()+"|"+throttle.Rejected.String())
}

// isBad is a call of which its caller got nothing: shed here, or rejected there.
func isBad() matcher { return like(outcome(), throttle.Shed.String()+"|"+throttle.Rejected.String()) }

// in is a circuit in a state, or a call whose circuit was in it.
func in(s breaker.State) matcher { return is(state(), s.String()) }

// came is a request for tokens that came to one of the results.
func came(results ...string) matcher { return like(result(), strings.Join(results, "|")) }

// said is a call that said one of these things about the rate.
func said(outcomes ...backoff.Outcome) matcher {
	words := make([]string, 0, len(outcomes))
	for _, o := range outcomes {
		words = append(words, o.String())
	}
	return like(backoffOutcome(), strings.Join(words, "|"))
}

// isAsked is a question to a store that was not given up by whoever asked, and hasAnswer one that was answered.
func isAsked() matcher   { return isNot(errorType(), throttle.FaultCanceled.String()) }
func hasAnswer() matcher { return is(errorType(), "") }

// rate returns how many there are a second, over as long as the graph's steps and the scrapes need.
func rate(selector string) string { return rateOver(selector, "$__rate_interval") }

func rateOver(selector, window string) string { return "rate(" + selector + "[" + window + "])" }

// sum adds up, into a series per value of the labels.
func sum(expr string, by ...string) string { return aggregate("sum", expr, by) }

// highest returns the largest, per value of the labels.
func highest(expr string, by ...string) string { return aggregate("max", expr, by) }

func aggregate(how, expr string, by []string) string {
	if len(by) == 0 {
		return how + "(" + expr + ")"
	}
	return fmt.Sprintf("%s by (%s) (%s)", how, strings.Join(by, ", "), expr)
}

// share returns a part of a whole, and nothing where the whole is nothing: no traffic is no ratio, rather than NaN.
func share(part, whole string) string { return part + " / (" + whole + " > 0)" }
