package otelthrottle

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// BackoffHooks returns the hooks for a Responsive's Config. Several may share them. They cost a
// call that does not wait nothing.
func (tel *Telemetry) BackoffHooks() backoff.Hooks {
	if !tel.valid() {
		return backoff.Hooks{}
	}
	h := backoff.Hooks{Created: join(tel, tel.backoffs), Closed: tel.backoffs.Leave}
	if !tel.withoutSpans || !tel.withoutDuration {
		h.Slept = tel.slept
	}
	return h
}

// slept records the duration of a wait in the context of the caller, so that the exemplar leads to
// its span. It adds an event to that span, if it is recording.
func (tel *Telemetry) slept(ctx context.Context, e backoff.SleepEvent) {
	if tel.ended.Load() {
		return
	}
	if !tel.withoutDuration {
		if s := tel.backoffs.Of(e.Responsive); s != nil {
			tel.instruments.backoffs.slept.Record(ctx, e.Duration.Seconds(), s.Data.record...)
		}
	}
	if tel.withoutSpans {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	kv := append(errorAttributes(throttle.FaultOf(e.Err)), semconv.KeyBackoffName.String(validName(e.Responsive.Name())),
		keyBackoffDuration.Float64(e.Duration.Seconds()))
	addEvent(span, eventBackoffSlept, kv...)
}

// backoffRegistry holds the backoffs by name.
type backoffRegistry = byname.Registry[*backoff.Responsive, backoff.Stats, backoffSum, *backoffAttributes]

// newBackoffRegistry returns a registry whose series have the common attributes too.
func newBackoffRegistry(common []attribute.KeyValue) *backoffRegistry {
	return byname.New(byname.Kind[*backoff.Responsive, backoff.Stats, backoffSum, *backoffAttributes]{
		Name: func(r *backoff.Responsive) string { return validName(r.Name()) },
		Data: func(r *backoff.Responsive) *backoffAttributes {
			return newBackoffAttributes(validName(r.Name()), common)
		},
		Read:  (*backoff.Responsive).Stats,
		Busy:  func(s *backoff.Stats) bool { return s.Waiting > 0 },
		Add:   backoffSum.add,
		Clone: func(s backoffSum) backoffSum { return s },
	})
}

// backoffSum is the sum of all backoffs of one name.
type backoffSum struct {
	// Counters of open and closed backoffs.
	ups, downs                    uint64 // steps
	successes, throttled, ignored uint64 // calls

	// The present state of open backoffs.
	delay   time.Duration // the highest: a mean would hide the one that is stuck
	waiting int
}

// add adds one backoff to the sum. A closed one adds its counters only.
func (s backoffSum) add(b *backoff.Stats, open bool) backoffSum {
	s.ups += b.Ups
	s.downs += b.Downs
	s.successes += b.Successes
	s.throttled += b.Throttled
	s.ignored += b.Ignored
	if open {
		s.delay = max(s.delay, b.Delay)
		s.waiting += b.Waiting
	}
	return s
}

// backoffInstruments are the metrics of backoffs.
type backoffInstruments struct {
	delay   metric.Float64ObservableGauge
	steps   metric.Int64ObservableCounter
	calls   metric.Int64ObservableCounter
	waiting metric.Int64ObservableUpDownCounter

	slept metric.Float64Histogram // nil without durations
}

// sleepBounds returns the bounds of waits, from 1 ms to the longest delay by default. The default
// limits of the delay are bounds: 30 s in the mode Pace, 0.5 s and 15 min in the mode Sleep. A wait
// beyond 30 s in the mode Pace is longer than one turn. Steps change the delay by a quarter or a
// half, and jitter by as much, so that two or three bounds per decade are enough.
func sleepBounds() []float64 {
	return []float64{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900}
}

func newBackoffInstruments(meter metric.Meter, durations bool) (backoffInstruments, error) {
	var i backoffInstruments
	errs := make([]error, 5)
	i.delay, errs[0] = meter.Float64ObservableGauge(semconv.MetricBackoffDelay, metric.WithUnit(unitSecond),
		metric.WithDescription("The present delay, without jitter."))
	i.steps, errs[1] = meter.Int64ObservableCounter(semconv.MetricBackoffSteps, metric.WithUnit(unitStep),
		metric.WithDescription("Steps of the delay, by direction."))
	i.calls, errs[2] = meter.Int64ObservableCounter(semconv.MetricBackoffCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that ended, by outcome."))
	i.waiting, errs[3] = meter.Int64ObservableUpDownCounter(semconv.MetricBackoffWaiting, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that wait for their turn."))
	if durations {
		i.slept, errs[4] = meter.Float64Histogram(semconv.MetricBackoffSleepDuration, metric.WithUnit(unitSecond),
			metric.WithDescription("Duration of waits. Calls that did not wait are not included."),
			metric.WithExplicitBucketBoundaries(sleepBounds()...))
	}
	return i, errors.Join(errs...)
}

// observed returns the instruments that the callback reports.
func (i *backoffInstruments) observed() []metric.Observable {
	return []metric.Observable{i.delay, i.steps, i.calls, i.waiting}
}

// backoffAttributes caches the attributes of the series of one source of backoffs.
type backoffAttributes struct {
	source                      []metric.ObserveOption
	up, down                    []metric.ObserveOption // steps
	success, throttled, ignored []metric.ObserveOption // calls

	record []metric.RecordOption
}

func newBackoffAttributes(name string, common []attribute.KeyValue) *backoffAttributes {
	set := func(own ...attribute.KeyValue) metric.MeasurementOption {
		kv := append(slices.Clone(common), semconv.KeyBackoffName.String(name))
		return metric.WithAttributeSet(attribute.NewSet(append(kv, own...)...))
	}
	observe := func(own ...attribute.KeyValue) []metric.ObserveOption { return []metric.ObserveOption{set(own...)} }
	outcome := func(o backoff.Outcome) []metric.ObserveOption {
		return observe(semconv.KeyBackoffOutcome.String(o.String()))
	}
	return &backoffAttributes{
		source:    observe(),
		up:        observe(semconv.KeyBackoffDirection.String(semconv.DirectionUp)),
		down:      observe(semconv.KeyBackoffDirection.String(semconv.DirectionDown)),
		success:   outcome(backoff.Success),
		throttled: outcome(backoff.Throttled),
		ignored:   outcome(backoff.Ignored),
		record:    []metric.RecordOption{set()},
	}
}

// backoffReport reports one source of backoffs.
type backoffReport struct {
	to          metric.Observer
	instruments *backoffInstruments
	attributes  *backoffAttributes
}

// report reports everything. The series start at 0, so that rates include the first event.
func (r *backoffReport) report(sum *backoffSum) {
	i, a := r.instruments, r.attributes
	r.to.ObserveFloat64(i.delay, sum.delay.Seconds(), a.source...)
	r.to.ObserveInt64(i.waiting, int64(sum.waiting), a.source...)
	r.to.ObserveInt64(i.steps, int64(sum.ups), a.up...)
	r.to.ObserveInt64(i.steps, int64(sum.downs), a.down...)
	r.to.ObserveInt64(i.calls, int64(sum.successes), a.success...)
	r.to.ObserveInt64(i.calls, int64(sum.throttled), a.throttled...)
	r.to.ObserveInt64(i.calls, int64(sum.ignored), a.ignored...)
}
