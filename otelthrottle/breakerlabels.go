package otelthrottle

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakerLabels are the attributes of the series of one source of breakers, made once: all but those of circuits, which come and go.
type breakerLabels struct {
	name      string
	constants []attribute.KeyValue

	source   []metric.ObserveOption
	states   [breaker.NumStates][]metric.ObserveOption
	failures [breaker.NumFailures][]metric.ObserveOption
	admitted [breaker.NumStates][]metric.ObserveOption
	shed     [breaker.NumStates][]metric.ObserveOption
	shadow   [breaker.NumStates][]metric.ObserveOption
}

func newBreakerLabels(name string, constants []attribute.KeyValue) *breakerLabels {
	l := &breakerLabels{name: name, constants: constants}
	l.source = l.options()
	for i := range l.states {
		state := KeyBreakerState.String(breaker.State(i).String())
		l.states[i] = l.options(state)
		l.admitted[i] = l.options(state, KeyDecision.String(DecisionAdmitted))
		l.shed[i] = l.options(state, KeyDecision.String(DecisionShed))
		l.shadow[i] = l.options(state, KeyDecision.String(DecisionShadowShed))
	}
	for i := range l.failures {
		l.failures[i] = l.options(KeyBreakerFailure.String(breaker.Failure(i).String()))
	}
	return l
}

// options returns the options with which to observe a series that has these attributes, beside those that are on everything.
func (l *breakerLabels) options(own ...attribute.KeyValue) []metric.ObserveOption {
	kv := append(slices.Clone(l.constants), KeyBreakerName.String(l.name))
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(append(kv, own...)...))}
}
