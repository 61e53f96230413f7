package otelthrottle

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
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
	h := backoff.Hooks{Created: tel.backoffs.created(tel), Closed: tel.backoffs.Leave}
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
			tel.pushed.sleep.Record(ctx, e.Duration.Seconds(), s.Data.ofFault(throttle.FaultNone)...)
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

// newBackoffs returns the backoffs, with their metrics. The series start at 0, so that rates include the first event.
func newBackoffs(common []attribute.KeyValue) *named[*backoff.Responsive, backoff.Stats, backoff.Stats] {
	return newNamed("backoff", semconv.KeyBackoffName, common, byname.Kind[*backoff.Responsive, backoff.Stats, backoff.Stats, *attributes]{
		Read: (*backoff.Responsive).Stats,
		Busy: func(s *backoff.Stats) bool { return s.Waiting > 0 },
		Add:  addBackoff,
	}, []row[backoff.Stats]{
		one(floatGauge, semconv.MetricBackoffDelay, "s", "The present delay, without jitter.",
			func(s *backoff.Stats, to *output) { to.float(s.Delay.Seconds()) }),
		{
			kind: counter, name: semconv.MetricBackoffSteps, unit: "{step}", help: "Steps of the delay, by direction.",
			keys: []attribute.Key{semconv.KeyBackoffDirection},
			read: func(s *backoff.Stats, to *output) {
				to.count(s.Ups, semconv.DirectionUp)
				to.count(s.Downs, semconv.DirectionDown)
			},
		},
		{
			kind: counter, name: semconv.MetricBackoffCalls, unit: "{call}", help: "Calls that ended, by outcome.",
			keys: []attribute.Key{semconv.KeyBackoffOutcome},
			read: func(s *backoff.Stats, to *output) {
				to.count(s.Successes, backoff.Success.String())
				to.count(s.Throttled, backoff.Throttled.String())
				to.count(s.Ignored, backoff.Ignored.String())
			},
		},
		one(upDown, semconv.MetricBackoffWaiting, "{call}", "Calls that wait for their turn.",
			func(s *backoff.Stats, to *output) { to.number(int64(s.Waiting)) }),
	})
}

// addBackoff adds one backoff to the sum of its name. A closed one adds its counters only. The delay is the highest: a mean would
// hide the one that is stuck.
func addBackoff(sum backoff.Stats, b *backoff.Stats, open bool) backoff.Stats {
	sum.Ups += b.Ups
	sum.Downs += b.Downs
	sum.Successes += b.Successes
	sum.Throttled += b.Throttled
	sum.Ignored += b.Ignored
	if open {
		sum.Delay = max(sum.Delay, b.Delay)
		sum.Waiting += b.Waiting
	}
	return sum
}
