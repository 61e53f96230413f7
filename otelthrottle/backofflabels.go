package otelthrottle

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// backoffLabels are the attributes of the series of one source of backoffs, made once.
type backoffLabels struct {
	source                      []metric.ObserveOption
	up, down                    []metric.ObserveOption // steps
	success, throttled, ignored []metric.ObserveOption // calls

	record []metric.RecordOption
}

// newBackoffLabels adds the attributes of the schema to those that are on everything.
func newBackoffLabels(name string, constants []attribute.KeyValue) *backoffLabels {
	set := func(own ...attribute.KeyValue) metric.MeasurementOption {
		kv := append(slices.Clone(constants), KeyBackoffName.String(name))
		return metric.WithAttributeSet(attribute.NewSet(append(kv, own...)...))
	}
	observe := func(own ...attribute.KeyValue) []metric.ObserveOption { return []metric.ObserveOption{set(own...)} }
	outcome := func(o backoff.Outcome) []metric.ObserveOption { return observe(KeyBackoffOutcome.String(o.String())) }
	return &backoffLabels{
		source:    observe(),
		up:        observe(KeyBackoffDirection.String(DirectionUp)),
		down:      observe(KeyBackoffDirection.String(DirectionDown)),
		success:   outcome(backoff.Success),
		throttled: outcome(backoff.Throttled),
		ignored:   outcome(backoff.Ignored),
		record:    []metric.RecordOption{set()},
	}
}
