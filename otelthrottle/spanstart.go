package otelthrottle

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// spanStart is what a source's spans of one priority have in common when they start.
type spanStart struct {
	name       string
	attributes []attribute.KeyValue
	calm       []trace.SpanStartOption // for a call at probability 0, which most are
}

// spanStart returns what spans of priority p start with.
func (l *labels) spanStart(tel *Telemetry, p throttle.Priority) *spanStart {
	cell := &l.spans[p]
	if start := cell.Load(); start != nil {
		return start
	}
	start := &spanStart{
		name:       tel.spanName(l.name, p),
		attributes: append(slices.Clone(l.constants), KeyName.String(l.name), KeyPriority.String(p.String())),
	}
	kv := append(slices.Clone(start.attributes), KeyDecision.String(DecisionAdmitted), KeyProbability.Float64(0))
	start.calm = []trace.SpanStartOption{trace.WithAttributes(kv...)}
	cell.Store(start)
	return start
}

// busySpan is an ownSpan with room for the attributes of a call that might have been shed, so that it is one allocation.
type busySpan struct {
	ownSpan
	attributes [6]attribute.KeyValue
	options    [1]trace.SpanStartOption
}

// startOptions are the options for a call's span, with all attributes that are known at its start, in time for samplers.
func (b *busySpan) startOptions(s *spanStart, e throttle.StartEvent) []trace.SpanStartOption {
	decision := DecisionAdmitted
	if e.Shadow {
		decision = DecisionShadowShed
	}
	kv := append(b.attributes[:0], s.attributes...)
	kv = append(kv, KeyDecision.String(decision), KeyProbability.Float64(e.Probability))
	b.options[0] = trace.WithAttributes(kv...)
	return b.options[:]
}
