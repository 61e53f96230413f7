package otelthrottle

import (
	"encoding/hex"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/breaker"
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
	i.circuits, errs[0] = meter.Int64ObservableUpDownCounter(semconv.MetricBreakerCircuits, metric.WithUnit(unitCircuit),
		metric.WithDescription("Circuits of the fleet by state, as this process sees them. Closed ones count only if they have a record."))
	i.circuit, errs[1] = meter.Int64ObservableGauge(semconv.MetricBreakerCircuit, metric.WithUnit(unitCircuit),
		metric.WithDescription("The worst circuits that are not closed: one series with the value 1 for each."))
	i.transitions, errs[2] = meter.Int64ObservableCounter(semconv.MetricBreakerTransitions, metric.WithUnit(unitTransition),
		metric.WithDescription("Transitions of circuits that this process made, by new state."))
	i.calls, errs[3] = meter.Int64ObservableCounter(semconv.MetricBreakerCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls through breakers, by decision and state of the circuit."))
	i.age, errs[4] = meter.Float64ObservableGauge(semconv.MetricBreakerSnapshotAge, metric.WithUnit(unitSecond),
		metric.WithDescription("Time since the store was last read."))
	i.leader, errs[5] = meter.Int64ObservableUpDownCounter(semconv.MetricBreakerLeader, metric.WithUnit(unitLeader),
		metric.WithDescription("Whether this process leads the fleet: 1 or 0."))
	i.failures, errs[6] = meter.Int64ObservableCounter(semconv.MetricBreakerFailures, metric.WithUnit(unitFailure),
		metric.WithDescription("Failures of background tasks, such as polls and store writes, by kind."))
	return i, errors.Join(errs...)
}

// observed returns the instruments that the callback reports.
func (i *breakerInstruments) observed() []metric.Observable {
	return []metric.Observable{i.circuits, i.circuit, i.transitions, i.calls, i.age, i.leader, i.failures}
}

// numStates is the number of states that a circuit can have.
const numStates = len(breaker.Stats{}.Calls)

// breakerAttributes caches the attributes of the series of one source of managers. Those of
// circuits are not cached, because circuits come and go.
type breakerAttributes struct {
	name   string
	common []attribute.KeyValue

	source   []metric.ObserveOption
	states   [numStates][]metric.ObserveOption
	failures [][]metric.ObserveOption // by breaker.Failure
	admitted [numStates][]metric.ObserveOption
	shed     [numStates][]metric.ObserveOption
	shadow   [numStates][]metric.ObserveOption
}

func newBreakerAttributes(name string, common []attribute.KeyValue) *breakerAttributes {
	a := &breakerAttributes{name: name, common: common}
	a.source = a.observeOptions()
	for i := range a.states {
		state := semconv.KeyBreakerState.String(breaker.State(i).String())
		a.states[i] = a.observeOptions(state)
		a.admitted[i] = a.observeOptions(state, semconv.KeyDecision.String(semconv.DecisionAdmitted))
		a.shed[i] = a.observeOptions(state, semconv.KeyDecision.String(semconv.DecisionShed))
		a.shadow[i] = a.observeOptions(state, semconv.KeyDecision.String(semconv.DecisionShadowShed))
	}
	for f := range (breaker.ErrorCounts{}).All() {
		a.failures = append(a.failures, a.observeOptions(semconv.KeyBreakerFailure.String(f.String())))
	}
	return a
}

// observeOptions returns the options to observe a series with the common attributes and these.
func (a *breakerAttributes) observeOptions(own ...attribute.KeyValue) []metric.ObserveOption {
	kv := append(slices.Clone(a.common), semconv.KeyBreakerName.String(a.name))
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(append(kv, own...)...))}
}

// breakerReport reports one source of managers.
type breakerReport struct {
	to          metric.Observer
	instruments *breakerInstruments
	attributes  *breakerAttributes
}

// report reports everything except circuits. The series start at 0, so that rates include the first
// event.
func (r *breakerReport) report(sum *breakerSum) {
	i, a := r.instruments, r.attributes
	for state, calls := range sum.calls {
		s := breaker.State(state)
		r.to.ObserveInt64(i.circuits, int64(sum.circuits[s]), a.states[s]...)
		r.to.ObserveInt64(i.transitions, int64(sum.changes[s]), a.states[s]...)
		r.reportCalls(calls.Admitted-calls.ShadowShed, s == breaker.Closed || s == breaker.HalfOpen, a.admitted[s])
		r.reportCalls(calls.Shed, s != breaker.Closed || sum.failsClosed, a.shed[s])
		r.reportCalls(calls.ShadowShed, false, a.shadow[s])
	}
	for f, n := range sum.failures.All() {
		r.to.ObserveInt64(i.failures, int64(n), a.failures[f]...)
	}
	r.to.ObserveInt64(i.leader, int64(sum.leaders), a.source...)
	if sum.hasRead {
		r.to.ObserveFloat64(i.age, sum.age.Seconds(), a.source...)
	}
}

// reportCalls reports a number of calls. If always is false, the series starts with the first call:
// it is one that most breakers never have.
func (r *breakerReport) reportCalls(n uint64, always bool, options []metric.ObserveOption) {
	if n > 0 || always {
		r.to.ObserveInt64(r.instruments.calls, int64(n), options...)
	}
}

// reportCircuits reports up to limit circuits that are not closed. It builds their attributes each
// time: a cache of them would grow without bound.
func (r *breakerReport) reportCircuits(sum *breakerSum, limit int) {
	if limit == 0 {
		return
	}
	for _, s := range worstCircuits(sum.circuitLists, limit) {
		own := append(circuitAttributes(s.Key), semconv.KeyBreakerState.String(s.State.String()))
		r.to.ObserveInt64(r.instruments.circuit, 1, r.attributes.observeOptions(own...)...)
	}
}

// circuitAttributes returns the attributes that identify a circuit.
func circuitAttributes(k breaker.Key) []attribute.KeyValue {
	hash := func() string {
		id := k.RecordID()
		return hex.EncodeToString(id[:4])
	}
	return []attribute.KeyValue{semconv.KeyBreakerTenant.String(validKey(k.Tenant, hash)), semconv.KeyBreakerKey.String(validKey(k.ID, hash))}
}
