package main

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// metric is the name of a metric in Prometheus. The Prometheus exporter and the collector append
// its unit and kind by default.
type metric string

// metricOf returns the name of an OpenTelemetry metric in Prometheus, with the suffix of its unit and
// kind.
func metricOf(name, ending string) metric {
	return metric(strings.ReplaceAll(name, ".", "_") + ending)
}

func calls() metric       { return metricOf(semconv.MetricCalls, "_total") }
func duration() metric    { return metricOf(semconv.MetricCallDuration, "_seconds_bucket") }
func active() metric      { return metricOf(semconv.MetricCallActive, "") }
func probability() metric { return metricOf(semconv.MetricRejectionProbability, "_ratio") }
func requests() metric    { return metricOf(semconv.MetricWindowRequests, "") }
func accepts() metric     { return metricOf(semconv.MetricWindowAccepts, "") }
func fallbacks() metric   { return metricOf(semconv.MetricFallbacks, "_total") }
func overloads() metric   { return metricOf(semconv.MetricOverloads, "_total") }

func slowCalls() metric { return metricOf(semconv.MetricSlowCalls, "_total") }

func circuits() metric     { return metricOf(semconv.MetricBreakerCircuits, "") }
func circuit() metric      { return metricOf(semconv.MetricBreakerCircuit, "") }
func transitions() metric  { return metricOf(semconv.MetricBreakerTransitions, "_total") }
func breakerCalls() metric { return metricOf(semconv.MetricBreakerCalls, "_total") }
func snapshotAge() metric  { return metricOf(semconv.MetricBreakerSnapshotAge, "_seconds") }
func leader() metric       { return metricOf(semconv.MetricBreakerLeader, "") }

func bucketRequests() metric { return metricOf(semconv.MetricBucketRequests, "_total") }
func bucketTokens() metric   { return metricOf(semconv.MetricBucketTokens, "_total") }
func bucketWaiting() metric  { return metricOf(semconv.MetricBucketWaiting, "") }
func bucketLimit() metric    { return metricOf(semconv.MetricBucketLimit, "_per_second") }

func backoffDelay() metric   { return metricOf(semconv.MetricBackoffDelay, "_seconds") }
func backoffCalls() metric   { return metricOf(semconv.MetricBackoffCalls, "_total") }
func backoffWaiting() metric { return metricOf(semconv.MetricBackoffWaiting, "") }

func storeRequests() metric { return metricOf(semconv.MetricBucketStoreDuration, "_seconds_count") }

// Names of labels in Prometheus.
func throttleName() string { return label(semconv.KeyName) }
func priority() string     { return label(semconv.KeyPriority) }
func decision() string     { return label(semconv.KeyDecision) }
func outcome() string      { return label(semconv.KeyOutcome) }
func cause() string        { return label(semconv.KeyCause) }
func alert() string        { return label(semconv.KeyAlert) }
func slowEvent() string    { return label(semconv.KeySlowEvent) }
func slowSource() string   { return label(semconv.KeySlowSource) }
func errorType() string    { return label(semconv.KeyErrorType) }

func breakerName() string { return label(semconv.KeyBreakerName) }
func state() string       { return label(semconv.KeyBreakerState) }
func failure() string     { return label(semconv.KeyBreakerFailure) }
func tenant() string      { return label(semconv.KeyBreakerTenant) }
func key() string         { return label(semconv.KeyBreakerKey) }

func bucketName() string { return label(semconv.KeyBucketName) }
func result() string     { return label(semconv.KeyBucketResult) }

func backoffName() string { return label(semconv.KeyBackoffName) }
func direction() string   { return label(semconv.KeyBackoffDirection) }

func label(key attribute.Key) string { return strings.ReplaceAll(string(key), ".", "_") }

// matcher is a condition on a label.
type matcher string

func equals(label, value string) matcher  { return matcher(label + `="` + value + `"`) }
func differs(label, value string) matcher { return matcher(label + `!="` + value + `"`) }
func matches(label, value string) matcher { return matcher(label + `=~"` + value + `"`) }

// selectedPlace returns the conditions for the selected clusters and namespaces. By default they
// match series without these labels too.
func selectedPlace() []matcher {
	return []matcher{matches("cluster", "$cluster"), matches("namespace", "$namespace")}
}

// inJob returns the conditions for the selected jobs.
func inJob() []matcher { return append(selectedPlace(), matches("job", "$job")) }

// selectedJob returns the conditions for the selected jobs and instances.
func selectedJob() []matcher { return append(inJob(), matches("instance", "$instance")) }

// selectedOrNone matches the selected values, and series without the label. The format regex needs
// a raw string.
func selectedOrNone(label, variable string) matcher {
	return matcher(label + "=~`(${" + variable + ":regex})?`")
}

func selectedPriority() matcher { return matches(priority(), "$priority") }

// of selects the series of the selected throttles, with all priorities.
func (m metric) of(more ...matcher) string { return m.about(theThrottle(), more) }

func (m metric) selected(more ...matcher) string {
	return m.about(theThrottle(), append(conditions(selectedPriority()), more...))
}

func (m metric) ofBreaker(more ...matcher) string { return m.about(theBreaker(), more) }
func (m metric) ofBucket(more ...matcher) string  { return m.about(theBucket(), more) }
func (m metric) ofBackoff(more ...matcher) string { return m.about(theBackoff(), more) }

func (m metric) about(s subject, more []matcher) string {
	return m.where(append(append(selectedJob(), s.selected()), more...)...)
}

// where selects the series that meet all conditions.
func (m metric) where(conditions ...matcher) string {
	texts := make([]string, 0, len(conditions))
	for _, c := range conditions {
		texts = append(texts, string(c))
	}
	return string(m) + "{" + strings.Join(texts, ",") + "}"
}

// Conditions on calls. All calls together are the offered ones. Calls that Shadow would have shed
// were sent like the admitted ones, and have the outcome of the backend.
func isSent() matcher     { return differs(decision(), semconv.DecisionShed) }
func isAdmitted() matcher { return equals(decision(), semconv.DecisionAdmitted) }
func isShed() matcher     { return equals(decision(), semconv.DecisionShed) }
func isShadow() matcher   { return equals(decision(), semconv.DecisionShadowShed) }
func isAccepted() matcher { return equals(outcome(), throttle.Accepted.String()) }
func isRejected() matcher { return equals(outcome(), throttle.Rejected.String()) }
func isHigh() matcher     { return equals(priority(), throttle.High.String()) }

// isAnswered selects calls that the backend answered: accepted or rejected, and not ignored.
func isAnswered() matcher {
	return matches(outcome(), throttle.Accepted.String()+"|"+throttle.Rejected.String())
}

// isFailed selects calls that were shed here or rejected by the backend.
func isFailed() matcher {
	return matches(outcome(), throttle.Shed.String()+"|"+throttle.Rejected.String())
}

// isNotFailed selects the other calls.
func isNotFailed() matcher {
	return matcher(outcome() + `!~"` + throttle.Shed.String() + "|" + throttle.Rejected.String() + `"`)
}

// isCanceled selects calls that ended because their callers gave up: ignored or rejected ones. On
// the metrics of stores, notCanceled leaves out requests that the caller gave up.
func isCanceled() matcher  { return equals(errorType(), throttle.FaultCanceled.String()) }
func notCanceled() matcher { return differs(errorType(), throttle.FaultCanceled.String()) }

// inState selects circuits in a state, and calls whose circuit was in it.
func inState(s breaker.State) matcher { return equals(state(), s.String()) }

// withResult selects requests for tokens with one of the results.
func withResult(results ...string) matcher { return matches(result(), strings.Join(results, "|")) }

// withOutcome selects the calls of backoffs with one of the outcomes.
func withOutcome(outcomes ...backoff.Outcome) matcher {
	names := make([]string, 0, len(outcomes))
	for _, o := range outcomes {
		names = append(names, o.String())
	}
	return matches(label(semconv.KeyBackoffOutcome), strings.Join(names, "|"))
}

// withoutError selects requests to stores that were answered.
func withoutError() matcher { return equals(errorType(), "") }

// rate returns the rate per second, over a window that fits the step of the graph and the scrape
// interval.
func rate(selector string) string { return rateOver(selector, "$__rate_interval") }

func rateOver(selector, window string) string { return "rate(" + selector + "[" + window + "])" }

// sum adds up, by labels.
func sum(expr string, by ...string) string { return aggregate("sum", expr, by) }

// highest returns the maximum, by labels.
func highest(expr string, by ...string) string { return aggregate("max", expr, by) }

func aggregate(how, expr string, by []string) string {
	if len(by) == 0 {
		return how + "(" + expr + ")"
	}
	return fmt.Sprintf("%s by (%s) (%s)", how, strings.Join(by, ", "), expr)
}

// share returns the ratio of part to whole. It is absent and not NaN if whole is 0.
func share(part, whole string) string { return part + " / (" + whole + " > 0)" }

// Durations are classic histograms, with a series for each bucket, or native ones, with one series
// of all buckets. A query asks for the classic ones first, and falls through to the native ones.

// quantileOf returns a quantile of the durations that a selector of buckets selects, by labels.
func quantileOf(q float64, buckets string, by ...string) string {
	native := strings.Replace(buckets, "_bucket{", "{", 1)
	return fmt.Sprintf("histogram_quantile(%v, %s) or histogram_quantile(%[1]v, %[3]s)",
		q, sum(rate(buckets), append([]string{"le"}, by...)...), sum(rate(native), by...))
}

// durations returns a graph of some quantiles of durations.
func durations(title string, width int, noValue string, quantile func(q float64) string, of ...float64) grafana.Panel {
	p := grafana.Panel{Title: title, Width: width, Unit: "s", NoValue: noValue, Colors: byQuantile()}
	for i, q := range of {
		p.Targets = append(p.Targets, grafana.Target{Expr: quantile(q), Legend: fmt.Sprintf("p%v", 100*q), Exemplars: i == 0})
	}
	return p
}

// countOf returns how many durations a second a selector of counts selects, by labels.
func countOf(counts string, by ...string) string {
	native := strings.Replace(counts, "_count{", "{", 1)
	return "(" + sum(rate(counts), by...) + " or " + sum("histogram_count("+rate(native)+")", by...) + ")"
}

// orZero returns part, or 0 where it is absent and whole is not: many series begin with their first
// event.
func orZero(part, whole string) string { return "(" + part + " or 0 * " + whole + ")" }

// worst and lowest return the series with the highest or the lowest value. A mean would hide a
// small one that fails.
func worst(expr string) string  { return "topk(1, " + expr + ")" }
func lowest(expr string) string { return "bottomk(1, " + expr + ")" }

// labelReplace sets a label to a text where another label has a value.
func labelReplace(expr, label, text, of, value string) string {
	return fmt.Sprintf("label_replace(%s, %q, %q, %q, %q)", expr, label, text, of, value)
}

// byRank sorts series of priorities from high to low: Prometheus sorts them by their labels, and the
// letters h, i, m and o, the second one of low, have that order.
func byRank(expr string) string { return labelReplace(expr, "order", "$1", priority(), "l?(.).*") }
