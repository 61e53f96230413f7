package otelthrottle

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// ownSpan is the context of a call for which this package started a span. Its key is the binding.
// The current span of the context is no substitute: if none was started, it is the caller's. A key
// that bindings share would let one Telemetry end the span of another.
type ownSpan struct {
	context.Context // in which span is the current one
	binding         *binding
	span            trace.Span // nil: no span was started, and that of an outer throttle is hidden
}

// Value returns o for its own key.
func (o *ownSpan) Value(key any) any {
	if key == any(o.binding) {
		return o
	}
	return o.Context.Value(key)
}

// traces reports whether a call gets a span or an event.
func (tel *Telemetry) traces(ctx context.Context, t *throttle.Throttle, p throttle.Priority) bool {
	return !tel.ended.Load() && (tel.filter == nil || tel.filter(ctx, t.Name(), p))
}

// started starts a span if the current one is recording.
func (b *binding) started(ctx context.Context, e throttle.StartEvent) context.Context {
	tel := b.telemetry
	if !tel.rootSpans && !trace.SpanFromContext(ctx).IsRecording() || !tel.traces(ctx, e.Throttle, e.Priority) {
		return b.withoutOwnSpan(ctx)
	}
	a := b.attributesOf(e.Throttle)
	if a == nil {
		return b.withoutOwnSpan(ctx)
	}
	start := a.spanStart(tel, e.Priority)
	attempt := retry.FromContext(ctx)
	if attempt.Throttle != e.Throttle { // a call inside of an attempt
		attempt = retry.Attempt{Number: 1}
	}
	if e.Probability == 0 && !e.Shadow && e.Throttle.Key() == "" && attempt.Number == 1 {
		own := &ownSpan{binding: b}
		own.Context, own.span = tel.tracer.Start(ctx, start.name, start.options...)
		return own
	}
	own := &ownSpanWithAttributes{ownSpan: ownSpan{binding: b}}
	own.Context, own.span = tel.tracer.Start(ctx, start.name, own.startOptions(start, e, attempt.Number)...)
	if attempt.Previous != nil {
		own.span.AddLink(trace.LinkFromContext(attempt.Previous))
	}
	return &own.ownSpan
}

// withoutOwnSpan hides the span of an outer throttle, which this call must not end.
func (b *binding) withoutOwnSpan(ctx context.Context) context.Context {
	if own, _ := ctx.Value(b).(*ownSpan); own != nil && own.span != nil {
		return &ownSpan{Context: ctx, binding: b}
	}
	return ctx
}

// finished ends the span of the call. It records the duration in the context of that span, so that
// the exemplar leads to it.
func (b *binding) finished(ctx context.Context, e throttle.FinishEvent) {
	a := b.attributesOf(e.Throttle)
	own, _ := ctx.Value(b).(*ownSpan)
	if own != nil {
		ctx = own.Context
	}
	if b.duration != nil && a != nil && !b.telemetry.ended.Load() {
		b.duration.Record(ctx, float64(e.Duration)/float64(time.Second), a.recordOptions(e.Priority, e.Outcome, e.Fault)...)
	}
	if own != nil && own.span != nil {
		own.end(a, e)
	}
}

// end ends the span. Its status is Error only if the caller gets an error. If a fallback succeeds,
// the status stays unset.
func (o *ownSpan) end(a *throttleAttributes, e throttle.FinishEvent) {
	if o.span.IsRecording() {
		if a != nil {
			o.span.SetAttributes(a.outcomeAttributes(e.Outcome, e.Fault)...)
		}
		if e.Overloaded {
			o.span.SetAttributes(semconv.KeyOverloaded.Bool(true))
		}
		if e.Err != nil {
			o.span.SetStatus(codes.Error, e.Outcome.String())
		}
	}
	o.span.End()
}

// shed adds an event to the caller's span, if it is recording. A shed call has no span of its own:
// during an overload there would be too many of them.
func (b *binding) shed(ctx context.Context, e throttle.ShedEvent) {
	span := trace.SpanFromContext(ctx)
	if e.Shadow || !span.IsRecording() || !b.telemetry.traces(ctx, e.Throttle, e.Priority) {
		return
	}
	kv := append(make([]attribute.KeyValue, 0, 6),
		semconv.KeyName.String(validName(e.Throttle.Name())), semconv.KeyPriority.String(e.Priority.String()),
		semconv.KeyCause.String(e.Cause.String()), semconv.KeyProbability.Float64(e.Probability))
	if key, ok := groupKeyAttribute(e.Throttle); ok {
		kv = append(kv, key)
	}
	if e.Tenant {
		kv = append(kv, semconv.KeyTenantAbove.Bool(true))
	}
	addEvent(span, eventShed, kv...)
}

// policyChanged adds an event to the span of the call that began or ended an alert, if it is
// recording.
func (b *binding) policyChanged(ctx context.Context, e throttle.PolicyEvent) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || b.telemetry.ended.Load() {
		return
	}
	kv := []attribute.KeyValue{
		semconv.KeyName.String(validName(e.Throttle.Name())), semconv.KeyAlert.String(e.After.Alert.String()), keyBackground.Float64(e.After.Background),
	}
	if key, ok := groupKeyAttribute(e.Throttle); ok {
		kv = append(kv, key)
	}
	addEvent(span, eventPolicy, kv...)
}

// addEvent adds an event to a span. All events are added here, because OpenTelemetry is about to
// replace span events by log records.
func addEvent(span trace.Span, name string, attributes ...attribute.KeyValue) {
	span.AddEvent(name, trace.WithAttributes(attributes...))
}

// spanStart is what all spans of one source and priority start with.
type spanStart struct {
	name       string
	attributes []attribute.KeyValue
	options    []trace.SpanStartOption // of a call at probability 0, outside a group
}

func (a *throttleAttributes) spanStart(tel *Telemetry, p throttle.Priority) *spanStart {
	cell := &a.spans[p]
	if start := cell.Load(); start != nil {
		return start
	}
	start := &spanStart{
		name:       tel.spanName(a.name, p),
		attributes: append(slices.Clone(a.common), semconv.KeyName.String(a.name), semconv.KeyPriority.String(p.String())),
	}
	kv := append(slices.Clone(start.attributes), semconv.KeyDecision.String(semconv.DecisionAdmitted), semconv.KeyProbability.Float64(0))
	start.options = []trace.SpanStartOption{trace.WithAttributes(kv...)}
	cell.Store(start)
	return start
}

// ownSpanWithAttributes is an ownSpan with space for attributes of its own. Together they are one
// allocation.
type ownSpanWithAttributes struct {
	ownSpan
	attributes [8]attribute.KeyValue
	options    [1]trace.SpanStartOption
}

// startOptions returns the options of a call's span. They have all attributes that are known at the
// start, because samplers see no others.
func (o *ownSpanWithAttributes) startOptions(s *spanStart, e throttle.StartEvent, attempt int) []trace.SpanStartOption {
	decision := semconv.DecisionAdmitted
	if e.Shadow {
		decision = semconv.DecisionShadowShed
	}
	kv := append(o.attributes[:0], s.attributes...)
	kv = append(kv, semconv.KeyDecision.String(decision), semconv.KeyProbability.Float64(e.Probability))
	if key, ok := groupKeyAttribute(e.Throttle); ok {
		kv = append(kv, key)
	}
	if attempt > 1 {
		kv = append(kv, semconv.KeyRetryAttempt.Int(attempt))
	}
	o.options[0] = trace.WithAttributes(kv...)
	return o.options[:]
}
