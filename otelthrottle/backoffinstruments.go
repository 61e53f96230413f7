package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// backoffInstruments are the metrics of backoffs. All but the time slept are observed.
type backoffInstruments struct {
	delay   metric.Float64ObservableGauge
	steps   metric.Int64ObservableCounter
	calls   metric.Int64ObservableCounter
	waiting metric.Int64ObservableUpDownCounter

	slept metric.Float64Histogram // nil without durations
}

// sleepBounds go from a wait that nobody feels to the longest delay there is by default. 30 s is that of the mode Pace, 0.5 s and 15 min the
// ends of Sleep, and all three are bounds: what is beyond 30 s in the mode Pace has stood in line for more than one turn. A delay moves by a
// quarter or a half at a step, and by as much at random, so in between two or three a decade tell all there is to tell. They are as
// many as those of calls.
func sleepBounds() []float64 {
	return []float64{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900}
}

func newBackoffInstruments(meter metric.Meter, durations bool) (backoffInstruments, error) {
	var i backoffInstruments
	errs := make([]error, 5)
	i.delay, errs[0] = meter.Float64ObservableGauge(MetricBackoffDelay, metric.WithUnit(unitSecond),
		metric.WithDescription("The present delay, without noise."))
	i.steps, errs[1] = meter.Int64ObservableCounter(MetricBackoffSteps, metric.WithUnit(unitStep),
		metric.WithDescription("Steps of the delay, by direction."))
	i.calls, errs[2] = meter.Int64ObservableCounter(MetricBackoffCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that ended, by what they say about the rate."))
	i.waiting, errs[3] = meter.Int64ObservableUpDownCounter(MetricBackoffWaiting, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that wait for their turn."))
	if durations {
		i.slept, errs[4] = meter.Float64Histogram(MetricBackoffSleepDuration, metric.WithUnit(unitSecond),
			metric.WithDescription("How long calls waited that had to."),
			metric.WithExplicitBucketBoundaries(sleepBounds()...))
	}
	return i, errors.Join(errs...)
}

// observed are the instruments that the callback reports.
func (i *backoffInstruments) observed() []metric.Observable {
	return []metric.Observable{i.delay, i.steps, i.calls, i.waiting}
}
