package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
)

// pushed are the metrics that are recorded as calls go by. All others are read at collection.
type pushed struct {
	call, store, sleep metric.Float64Histogram // nil without durations
	arrivals           metric.Int64Counter
}

func newPushed(meter metric.Meter, durations bool) (p pushed, err error) {
	var errs [4]error
	p.arrivals, errs[0] = meter.Int64Counter(semconv.MetricRetryArrivals, metric.WithUnit("{call}"),
		metric.WithDescription("Calls that their sender marked as retries, at a server."))
	if !durations {
		return p, errs[0]
	}
	seconds := func(name, help string, bounds ...float64) (metric.Float64Histogram, error) {
		return meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...))
	}
	// The bounds of the semantic conventions for durations of calls, with two more below 5 ms.
	p.call, errs[1] = seconds(semconv.MetricCallDuration, "Duration of admitted calls.",
		0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10)
	// Fine from 0.1 ms on, which Redis and SQLite take without load. 50 ms is the default of Config.StoreTimeout: as a bound it
	// separates answers from timeouts. The longest timeout is a minute.
	p.store, errs[2] = seconds(semconv.MetricBucketStoreDuration, "Duration of store calls, failed ones included.",
		0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 60)
	// From 1 ms to the longest delay by default. The default limits of the delay are bounds: 30 s in the mode Pace, 0.5 s and
	// 15 min in the mode Sleep. A wait beyond 30 s in the mode Pace is longer than one turn. Steps change the delay by a quarter
	// or a half, and jitter by as much, so that two or three bounds per decade are enough.
	p.sleep, errs[3] = seconds(semconv.MetricBackoffSleepDuration, "Duration of waits. Calls that did not wait are not included.",
		0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)
	return p, errors.Join(errs[:]...)
}
