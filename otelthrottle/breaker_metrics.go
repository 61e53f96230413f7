package otelthrottle

import (
	"encoding/hex"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/breaker"
)

const numStates = len(breaker.Stats{}.Calls)

// newBreakers returns the managers, with their metrics. It reads circuits only if detail is above 0, which is how many are
// reported. The series start at 0, so that rates include the first event.
func newBreakers(common []attribute.KeyValue, detail int) *named[*breaker.Manager, breakerSnapshot, breakerSum] {
	return newNamed("breaker", semconv.KeyBreakerName, common, byname.Kind[*breaker.Manager, breakerSnapshot, breakerSum, *attributes]{
		Read: func(m *breaker.Manager) breakerSnapshot {
			s := breakerSnapshot{Stats: m.Stats()}
			if detail > 0 {
				s.circuits = m.List()
			}
			return s
		},
		Add: breakerSum.add,
	}, breakerRows(detail))
}

func breakerRows(detail int) []row[breakerSum] {
	return []row[breakerSum]{
		{
			kind: upDown, name: semconv.MetricBreakerCircuits, unit: "{circuit}",
			help: "Circuits of the fleet by state, as this process sees them. Closed ones count only if they have a record.",
			keys: []attribute.Key{semconv.KeyBreakerState},
			read: func(s *breakerSum, to *output) {
				for state, n := range s.circuits {
					to.number(int64(n), breaker.State(state).String())
				}
			},
		},
		{
			kind: gauge, name: semconv.MetricBreakerCircuit, unit: "{circuit}",
			help: "The worst circuits that are not closed: one series with the value 1 for each.",
			read: func(s *breakerSum, to *output) {
				for _, c := range worstCircuits(s.circuitLists, detail) {
					to.passing(1, append(circuitAttributes(c.Key), semconv.KeyBreakerState.String(c.State.String()))...)
				}
			},
		},
		{
			kind: counter, name: semconv.MetricBreakerTransitions, unit: "{transition}",
			help: "Transitions of circuits that this process made, by new state.",
			keys: []attribute.Key{semconv.KeyBreakerState},
			read: func(s *breakerSum, to *output) {
				for state, n := range s.changes {
					to.count(n, breaker.State(state).String())
				}
			},
		},
		{
			kind: counter, name: semconv.MetricBreakerCalls, unit: "{call}",
			help: "Calls through breakers, by decision and state of the circuit.",
			keys: []attribute.Key{semconv.KeyBreakerState, semconv.KeyDecision},
			read: readBreakerCalls,
		},
		one(floatGauge, semconv.MetricBreakerSnapshotAge, "s", "Time since the store was last read.",
			func(s *breakerSum, to *output) { to.float(s.age.Seconds()) }).only(func(s *breakerSum) bool { return s.hasRead }),
		one(upDown, semconv.MetricBreakerLeader, "1", "Whether this process leads the fleet: 1 or 0.",
			func(s *breakerSum, to *output) { to.number(int64(s.leaders)) }),
		{
			kind: counter, name: semconv.MetricBreakerFailures, unit: "{failure}",
			help: "Failures of background tasks, such as polls and store writes, by kind.",
			keys: []attribute.Key{semconv.KeyBreakerFailure},
			read: func(s *breakerSum, to *output) {
				for f, n := range s.failures.All() {
					to.count(n, f.String())
				}
			},
		},
	}
}

// readBreakerCalls reports calls by state and decision. Series that most breakers never have start with the first call.
func readBreakerCalls(s *breakerSum, to *output) {
	for i, calls := range s.calls {
		state := breaker.State(i)
		report := func(n uint64, always bool, decision string) {
			if n > 0 || always {
				to.count(n, state.String(), decision)
			}
		}
		report(calls.Admitted-calls.ShadowShed, state == breaker.Closed || state == breaker.HalfOpen, semconv.DecisionAdmitted)
		report(calls.Shed, state != breaker.Closed || s.failsClosed, semconv.DecisionShed)
		report(calls.ShadowShed, false, semconv.DecisionShadowShed)
	}
}

func circuitAttributes(k breaker.Key) []attribute.KeyValue {
	hash := func() string {
		id := k.RecordID()
		return hex.EncodeToString(id[:4])
	}
	return []attribute.KeyValue{semconv.KeyBreakerTenant.String(validKey(k.Tenant, hash)), semconv.KeyBreakerKey.String(validKey(k.ID, hash))}
}
