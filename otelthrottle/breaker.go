package otelthrottle

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// BreakerHooks returns the hooks for a breaker's Config. Several managers may share them. A call that is let through costs nothing
// more with them.
func (tel *Telemetry) BreakerHooks() breaker.Hooks {
	if !tel.made() {
		return breaker.Hooks{}
	}
	h := breaker.Hooks{Created: tel.breakers.Join, Closed: tel.breakers.Leave}
	if !tel.withoutSpans {
		h.Shed = tel.shedByBreaker
	}
	return h
}

// shedByBreaker tells the caller's span, if it is recording, of a call that a breaker shed. Keys are only told where they are in metrics.
func (tel *Telemetry) shedByBreaker(ctx context.Context, e breaker.ShedEvent) {
	span := trace.SpanFromContext(ctx)
	if e.DryRun || !span.IsRecording() || tel.ended.Load() {
		return
	}
	kv := []attribute.KeyValue{
		KeyBreakerName.String(labelName(e.Manager.Name())), KeyBreakerState.String(e.State.String()),
	}
	if tel.breakerDetail > 0 {
		kv = append(kv, keyAttributes(e.Key)...)
	}
	addEvent(span, EventBreakerShed, kv...)
}

// breakerCollection is the report of one source of breakers.
type breakerCollection struct {
	to          metric.Observer
	instruments *breakerInstruments
	labels      *breakerLabels
}

// report reports all but the detail. What can be is there from 0, so that a rate has something to begin with.
func (c *breakerCollection) report(r *breakerReading) {
	i, l := c.instruments, c.labels
	for s := range breaker.State(breaker.NumStates) {
		c.to.ObserveInt64(i.circuits, int64(r.circuits[s]), l.states[s]...)
		c.to.ObserveInt64(i.transitions, int64(r.changes[s]), l.states[s]...)
		c.call(r.calls[s].Admitted, s == breaker.Closed || s == breaker.HalfOpen, l.admitted[s])
		c.call(r.calls[s].Shed, s != breaker.Closed || r.failsClosed, l.shed[s])
		c.call(r.calls[s].ShadowShed, false, l.shadow[s])
	}
	for f, n := range r.failures {
		c.to.ObserveInt64(i.failures, int64(n), l.failures[f]...)
	}
	c.to.ObserveInt64(i.leader, int64(r.leaders), l.source...)
	if r.hasRead {
		c.to.ObserveFloat64(i.age, r.age.Seconds(), l.source...)
	}
}

// call reports a number of calls. Where it is rare that there are any, it begins with the first: what DryRun lets through, and
// what FailClosed refuses to closed circuits.
func (c *breakerCollection) call(n uint64, always bool, options []metric.ObserveOption) {
	if n > 0 || always {
		c.to.ObserveInt64(c.instruments.calls, int64(n), options...)
	}
}

// detail reports which circuits are not closed. Their attributes are made anew each time: kept, they would be a leak.
func (c *breakerCollection) detail(r *breakerReading, limit int) {
	if limit == 0 {
		return
	}
	for _, s := range gravest(r.seen, limit) {
		own := append(keyAttributes(s.Key), KeyBreakerState.String(s.State.String()))
		c.to.ObserveInt64(c.instruments.circuit, 1, c.labels.options(own...)...)
	}
}
