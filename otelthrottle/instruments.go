package otelthrottle

import (
	"errors"
	"slices"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics of throttles, and those of breakers, buckets and backoffs. All but the durations are observed: their values
// are read from throttles, breakers, limiters and backoffs when somebody collects, and cost nothing on a call.
type instruments struct {
	calls       metric.Int64ObservableCounter
	active      metric.Int64ObservableUpDownCounter
	probability metric.Float64ObservableGauge
	requests    metric.Int64ObservableGauge
	accepts     metric.Int64ObservableGauge
	fallbacks   metric.Int64ObservableCounter
	clamped     metric.Int64ObservableCounter

	duration metric.Float64Histogram // nil without durations

	breakers breakerInstruments
	buckets  bucketInstruments
	backoffs backoffInstruments
}

// durationBounds are those of the conventions for durations of calls, with a finer beginning.
func durationBounds() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10}
}

func newInstruments(meter metric.Meter, durations bool) (instruments, error) {
	var i instruments
	errs := make([]error, 11)
	i.calls, errs[0] = meter.Int64ObservableCounter(MetricCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that ended or were shed, by decision and outcome."))
	i.active, errs[1] = meter.Int64ObservableUpDownCounter(MetricCallActive, metric.WithUnit(unitCall),
		metric.WithDescription("Admitted calls that have not ended yet."))
	i.probability, errs[2] = meter.Float64ObservableGauge(MetricRejectionProbability, metric.WithUnit(unitRatio),
		metric.WithDescription("Probability with which the next call would be shed."))
	i.requests, errs[3] = meter.Int64ObservableGauge(MetricWindowRequests, metric.WithUnit(unitRequest),
		metric.WithDescription("Calls in the window on which decisions are based."))
	i.accepts, errs[4] = meter.Int64ObservableGauge(MetricWindowAccepts, metric.WithUnit(unitRequest),
		metric.WithDescription("Calls in the window that the backend accepted."))
	i.fallbacks, errs[5] = meter.Int64ObservableCounter(MetricFallbacks, metric.WithUnit(unitCall),
		metric.WithDescription("Fallbacks, by the outcome of the call and by how the fallback itself ended."))
	i.clamped, errs[6] = meter.Int64ObservableCounter(MetricPriorityClamped, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that asked for a priority out of range."))
	if durations {
		i.duration, errs[7] = meter.Float64Histogram(MetricCallDuration, metric.WithUnit(unitSecond),
			metric.WithDescription("How long admitted calls took."),
			metric.WithExplicitBucketBoundaries(durationBounds()...))
	}
	i.breakers, errs[8] = newBreakerInstruments(meter)
	i.buckets, errs[9] = newBucketInstruments(meter, durations)
	i.backoffs, errs[10] = newBackoffInstruments(meter, durations)
	return i, errors.Join(errs...)
}

// observed are the instruments that the callback reports.
func (i *instruments) observed() []metric.Observable {
	own := []metric.Observable{i.calls, i.active, i.probability, i.requests, i.accepts, i.fallbacks, i.clamped}
	return slices.Concat(own, i.breakers.observed(), i.buckets.observed(), i.backoffs.observed())
}
