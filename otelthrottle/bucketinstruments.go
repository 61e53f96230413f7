package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// bucketInstruments are the metrics of buckets. All but the duration are observed.
type bucketInstruments struct {
	requests metric.Int64ObservableCounter
	tokens   metric.Int64ObservableCounter
	waiting  metric.Int64ObservableUpDownCounter

	duration metric.Float64Histogram // nil without durations
}

// storeBounds are fine where stores answer, from a tenth of a millisecond on, which Redis and SQLite take at rest, and coarse where they have
// failed: by default nobody waits for longer than 50 ms, which is a bound so that answers and what timed out are apart, and at most a
// minute can be asked for. They are as many as those of calls.
func storeBounds() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 60}
}

func newBucketInstruments(meter metric.Meter, durations bool) (bucketInstruments, error) {
	var i bucketInstruments
	errs := make([]error, 4)
	i.requests, errs[0] = meter.Int64ObservableCounter(MetricBucketRequests, metric.WithUnit(unitRequest),
		metric.WithDescription("Requests for tokens, by result."))
	i.tokens, errs[1] = meter.Int64ObservableCounter(MetricBucketTokens, metric.WithUnit(unitToken),
		metric.WithDescription("Tokens that were granted."))
	i.waiting, errs[2] = meter.Int64ObservableUpDownCounter(MetricBucketWaiting, metric.WithUnit(unitRequest),
		metric.WithDescription("Requests that stand in line for tokens."))
	if durations {
		i.duration, errs[3] = meter.Float64Histogram(MetricBucketStoreDuration, metric.WithUnit(unitSecond),
			metric.WithDescription("How long stores took to answer, or not to."),
			metric.WithExplicitBucketBoundaries(storeBounds()...))
	}
	return i, errors.Join(errs...)
}

// observed are the instruments that the callback reports.
func (i *bucketInstruments) observed() []metric.Observable {
	return []metric.Observable{i.requests, i.tokens, i.waiting}
}
