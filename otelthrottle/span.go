package otelthrottle

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// ownSpan is the context of a call for which this package started a span. It is found again by its binding, as a key: whoever
// looks for the current span instead, at the end of a call for which none was started, ends the caller's, and
// a key that bindings share lets one adapter end the span of another.
type ownSpan struct {
	context.Context // in which span is the current one
	binding         *binding
	span            trace.Span // nil: there is none, and that of a throttle around this one is hidden
}

// Value answers for the key of its own.
func (o *ownSpan) Value(key any) any {
	if key == any(o.binding) {
		return o
	}
	return o.Context.Value(key)
}

// wants reports whether a call's span, if any, is to be told of it.
func (tel *Telemetry) wants(ctx context.Context, t *throttle.Throttle, p throttle.Priority) bool {
	return !tel.ended.Load() && (tel.filter == nil || tel.filter(ctx, t.Name(), p))
}

// started starts a span under a recording one.
func (b *binding) started(ctx context.Context, e throttle.StartEvent) context.Context {
	tel := b.telemetry
	if !tel.rootSpans && !trace.SpanFromContext(ctx).IsRecording() || !tel.wants(ctx, e.Throttle, e.Priority) {
		return b.withoutOwnSpan(ctx)
	}
	l := b.labelsOf(e.Throttle)
	if l == nil {
		return b.withoutOwnSpan(ctx)
	}
	start := l.spanStart(tel, e.Priority)
	if e.Probability == 0 && !e.Shadow {
		own := &ownSpan{binding: b}
		own.Context, own.span = tel.tracer.Start(ctx, start.name, start.calm...)
		return own
	}
	busy := &busySpan{ownSpan: ownSpan{binding: b}}
	busy.Context, busy.span = tel.tracer.Start(ctx, start.name, busy.startOptions(start, e)...)
	return &busy.ownSpan
}

// withoutOwnSpan hides the span of a throttle around this one, which it must not end.
func (b *binding) withoutOwnSpan(ctx context.Context) context.Context {
	if own, _ := ctx.Value(b).(*ownSpan); own != nil && own.span != nil {
		return &ownSpan{Context: ctx, binding: b}
	}
	return ctx
}

// finished ends the call's own span and records its duration inside it, so that the exemplar leads there.
func (b *binding) finished(ctx context.Context, e throttle.FinishEvent) {
	l := b.labelsOf(e.Throttle)
	own, _ := ctx.Value(b).(*ownSpan)
	if own != nil {
		ctx = own.Context
	}
	if b.duration != nil && l != nil && !b.telemetry.ended.Load() {
		b.duration.Record(ctx, float64(e.Duration)/float64(time.Second), l.recordOptions(e.Priority, e.Outcome, e.Fault)...)
	}
	if own != nil && own.span != nil {
		own.end(l, e)
	}
}

// end ends the span. Its status is Error only if the caller got an error: a fallback that served is a success.
func (o *ownSpan) end(l *labels, e throttle.FinishEvent) {
	if o.span.IsRecording() {
		if l != nil {
			o.span.SetAttributes(l.outcomeAttributes(e.Outcome, e.Fault)...)
		}
		if e.Err != nil {
			o.span.SetStatus(codes.Error, e.Outcome.String())
		}
	}
	o.span.End()
}

// shed tells the caller's span, if it is recording, of a call that was shed. There is no span of its own: an overload would
// multiply them just when there is least room.
func (b *binding) shed(ctx context.Context, e throttle.ShedEvent) {
	span := trace.SpanFromContext(ctx)
	if e.Shadow || !span.IsRecording() || !b.telemetry.wants(ctx, e.Throttle, e.Priority) {
		return
	}
	addEvent(span, EventShed, KeyName.String(labelName(e.Throttle.Name())), KeyPriority.String(e.Priority.String()),
		KeyCause.String(e.Cause.String()), KeyProbability.Float64(e.Probability))
}

// addEvent is the only place that adds an event to a span: span events are on their way to becoming log records.
func addEvent(span trace.Span, name string, attributes ...attribute.KeyValue) {
	span.AddEvent(name, trace.WithAttributes(attributes...))
}
