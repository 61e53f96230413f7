package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// breakerInstruments are the metrics of breakers. All are observed.
type breakerInstruments struct {
	circuits    metric.Int64ObservableUpDownCounter
	circuit     metric.Int64ObservableGauge
	transitions metric.Int64ObservableCounter
	calls       metric.Int64ObservableCounter
	age         metric.Float64ObservableGauge
	leader      metric.Int64ObservableUpDownCounter
	failures    metric.Int64ObservableCounter
}

func newBreakerInstruments(meter metric.Meter) (breakerInstruments, error) {
	var i breakerInstruments
	errs := make([]error, 7)
	i.circuits, errs[0] = meter.Int64ObservableUpDownCounter(MetricBreakerCircuits, metric.WithUnit(unitCircuit),
		metric.WithDescription("Circuits of the whole fleet by state, as this process sees them; of closed ones those with a past."))
	i.circuit, errs[1] = meter.Int64ObservableGauge(MetricBreakerCircuit, metric.WithUnit(unitCircuit),
		metric.WithDescription("Circuits that are not closed, one series with the value 1 for each of the gravest."))
	i.transitions, errs[2] = meter.Int64ObservableCounter(MetricBreakerTransitions, metric.WithUnit(unitTransition),
		metric.WithDescription("Changes of circuits that this process made, by the state entered."))
	i.calls, errs[3] = meter.Int64ObservableCounter(MetricBreakerCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that breakers decided about, by decision and state of the circuit."))
	i.age, errs[4] = meter.Float64ObservableGauge(MetricBreakerSnapshotAge, metric.WithUnit(unitSecond),
		metric.WithDescription("How long ago the store was read last."))
	i.leader, errs[5] = meter.Int64ObservableUpDownCounter(MetricBreakerLeader, metric.WithUnit(unitLeader),
		metric.WithDescription("Whether this process leads the fleet: 1 or 0."))
	i.failures, errs[6] = meter.Int64ObservableCounter(MetricBreakerFailures, metric.WithUnit(unitFailure),
		metric.WithDescription("What went wrong beside the calls, by kind."))
	return i, errors.Join(errs...)
}

// observed are the instruments that the callback reports.
func (i *breakerInstruments) observed() []metric.Observable {
	return []metric.Observable{i.circuits, i.circuit, i.transitions, i.calls, i.age, i.leader, i.failures}
}
