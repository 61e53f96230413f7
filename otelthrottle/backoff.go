package otelthrottle

import (
	"context"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// BackoffHooks returns the hooks for a Responsive's Config. Several may share them. A call that need not wait costs nothing more with
// them.
func (tel *Telemetry) BackoffHooks() backoff.Hooks {
	if !tel.made() {
		return backoff.Hooks{}
	}
	h := backoff.Hooks{Created: tel.backoffs.Join, Closed: tel.backoffs.Leave}
	if !tel.withoutSpans || !tel.withoutTimes {
		h.Slept = tel.slept
	}
	return h
}

// slept records how long somebody has waited, in his own context, to whose span the exemplar then leads, and tells that span of it if it is
// recording.
func (tel *Telemetry) slept(ctx context.Context, e backoff.SleepEvent) {
	if tel.ended.Load() {
		return
	}
	if !tel.withoutTimes {
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
	kv := append(errorAttributes(throttle.FaultOf(e.Err)), KeyBackoffName.String(labelName(e.Responsive.Name())),
		KeyBackoffDuration.Float64(e.Duration.Seconds()))
	addEvent(span, EventBackoffSlept, kv...)
}

// backoffCollection is the report of one source of backoffs.
type backoffCollection struct {
	to          metric.Observer
	instruments *backoffInstruments
	labels      *backoffLabels
}

// report reports everything, all directions and outcomes from 0, so that a rate has something to begin with.
func (c *backoffCollection) report(r *backoffReading) {
	i, l := c.instruments, c.labels
	c.to.ObserveFloat64(i.delay, r.delay.Seconds(), l.source...)
	c.to.ObserveInt64(i.waiting, int64(r.waiting), l.source...)
	c.to.ObserveInt64(i.steps, int64(r.ups), l.up...)
	c.to.ObserveInt64(i.steps, int64(r.downs), l.down...)
	c.to.ObserveInt64(i.calls, int64(r.successes), l.success...)
	c.to.ObserveInt64(i.calls, int64(r.throttled), l.throttled...)
	c.to.ObserveInt64(i.calls, int64(r.ignored), l.ignored...)
}
