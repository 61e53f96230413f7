package otelthrottle

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

func throttleRows() []row[throttleSum] {
	return slices.Concat(callRows(), stateRows(), loadRows(), tenantRows(), slowRows())
}

// byPriority returns the keys of a row with a series for each priority.
func byPriority() []attribute.Key { return []attribute.Key{semconv.KeyPriority} }

// each returns a read that reads each priority. Word is that of the priority.
func each(read func(s *prioritySum, to *output, word string)) func(*throttleSum, *output) {
	return func(sum *throttleSum, to *output) {
		for p := range sum.priorities {
			read(&sum.priorities[p], to, throttle.Priority(p).String())
		}
	}
}

func perPriority(k kind, name, unit, help string, read func(s *prioritySum, to *output, word string)) row[throttleSum] {
	return row[throttleSum]{kind: k, name: name, unit: unit, help: help, keys: byPriority(), read: each(read)}
}

func callRows() []row[throttleSum] {
	return []row[throttleSum]{
		{
			kind: counter, name: semconv.MetricCalls, unit: "{call}", help: "Calls that ended or were shed, by decision and outcome.",
			keys: []attribute.Key{semconv.KeyPriority, semconv.KeyOutcome, semconv.KeyErrorType, semconv.KeyDecision, semconv.KeyCause},
			read: readCalls,
		},
		perPriority(upDown, semconv.MetricCallActive, "{call}", "Admitted calls in flight.",
			func(s *prioritySum, to *output, word string) { to.number(s.InFlight, word) }),
		{
			kind: counter, name: semconv.MetricFallbacks, unit: "{call}",
			help: "Fallbacks, by the outcome of the call and the error of the fallback.",
			keys: []attribute.Key{semconv.KeyPriority, semconv.KeyOutcome, semconv.KeyErrorType},
			read: each(func(s *prioritySum, to *output, word string) { to.totals(s.Fallbacks, word) }),
		},
		{
			kind: counter, name: semconv.MetricPriorityClamped, unit: "{call}", help: "Calls whose priority was out of range.",
			read: func(sum *throttleSum, to *output) {
				var clamped uint64
				for p := range sum.priorities {
					clamped += sum.priorities[p].Clamped
				}
				to.count(clamped)
			},
		},
		one(counter, semconv.MetricCallsExempt, "{call}", "Calls that were served without a decision, such as health checks.",
			func(sum *throttleSum, to *output) { to.count(sum.exempt) }).only(func(sum *throttleSum) bool { return sum.serving > 0 || sum.exempt > 0 }),
		perPriority(counter, semconv.MetricOverloads, "{call}", "Rejected calls of which the backend said that it is full.",
			func(s *prioritySum, to *output, word string) {
				if s.Overloaded > 0 {
					to.count(s.Overloaded, word)
				}
			}),
	}
}

// readCalls reports the calls that ended or were shed. The series of accepted and of shed calls
// start at 0, so that rates include the first call. Those of CauseLimit do so with Config.Slow, those of
// CauseProcessor in servers, and those of CauseTold in clients that receive load reports.
func readCalls(sum *throttleSum, to *output) {
	expected := [...]bool{
		throttle.CauseOwn: true, throttle.CauseAbove: true, throttle.CauseLimit: sum.slow.throttles > 0,
		throttle.CauseProcessor: sum.serving > 0, throttle.CauseTold: sum.receiving > 0,
	}
	for p := range sum.priorities {
		s, word := &sum.priorities[p], throttle.Priority(p).String()
		if s.Ended.Count(throttle.Accepted, throttle.FaultNone) == 0 {
			to.count(0, word, throttle.Accepted.String(), "", semconv.DecisionAdmitted)
		}
		to.totals(s.Ended, word, semconv.DecisionAdmitted)
		for cause, shed := range s.Shed.All() {
			if shed > 0 || expected[cause] {
				to.count(shed, word, throttle.Shed.String(), errorType(throttle.FaultShed), semconv.DecisionShed, cause.String())
			}
			to.totals(s.ShadowShed.Cause(cause), word, semconv.DecisionShadowShed, cause.String())
		}
	}
}

// totals reports each count that is not 0, with its outcome and fault between the priority and the other values.
func (o *output) totals(totals throttle.Totals, priority string, others ...string) {
	values := [maxKeys]string{0: priority}
	n := 3 + copy(values[3:], others)
	for total := range totals.All() {
		values[1], values[2] = total.Outcome.String(), errorType(total.Fault)
		o.count(total.Calls, values[:n]...)
	}
}

func stateRows() []row[throttleSum] {
	tiered := func(sum *throttleSum) bool { return sum.tiered > 0 }
	return []row[throttleSum]{
		perPriority(floatGauge, semconv.MetricRejectionProbability, "1", "Probability that the next call is shed.",
			func(s *prioritySum, to *output, word string) { to.float(s.Probability, word) }),
		perPriority(gauge, semconv.MetricWindowRequests, "{request}", "Calls in the window that decisions are based on.",
			func(s *prioritySum, to *output, word string) { to.count(s.Window.Requests(), word) }),
		perPriority(gauge, semconv.MetricWindowAccepts, "{request}", "Calls in the window that the backend accepted.",
			func(s *prioritySum, to *output, word string) { to.count(s.Window.Accepted, word) }),
		{
			kind: gauge, name: semconv.MetricPolicyState, unit: "{throttle}",
			help: "Throttles with the policy Tiered, by the reason of their alert.",
			keys: []attribute.Key{semconv.KeyAlert}, when: tiered,
			read: func(sum *throttleSum, to *output) {
				for alert, n := range sum.alerts {
					to.count(n, throttle.AlertReason(alert).String())
				}
			},
		},
		one(floatGauge, semconv.MetricPolicyBackground, "1", "Share of the calls whose rejection is not taken for overload.",
			func(sum *throttleSum, to *output) { to.float(sum.background) }).only(tiered),
		{
			kind: gauge, name: semconv.MetricMode, unit: "{throttle}",
			help: "Throttles by mode, and whether it is that of the code or of an override.",
			keys: []attribute.Key{semconv.KeyMode, semconv.KeyModeSource},
			read: readModes,
		},
	}
}

// readModes reports how many throttles have each mode. There are no series of 0: most throttles never change
// their mode.
func readModes(sum *throttleSum, to *output) {
	for mode := range sum.modes {
		word := throttle.Mode(mode).String()
		if n := sum.modes[mode]; n > 0 {
			to.count(n, word, semconv.ModeOfCode)
		}
		if n := sum.overridden[mode]; n > 0 {
			to.count(n, word, semconv.ModeOfOverride)
		}
	}
}

// tenantRows returns the metrics of tenants, for throttles that have shed, or might have shed, a call of one.
// No attribute names a tenant: there may be any number of them.
func tenantRows() []row[throttleSum] {
	known := func(read func(s *prioritySum, to *output, word string)) func(*prioritySum, *output, string) {
		return func(s *prioritySum, to *output, word string) {
			if s.Tenants.Known {
				read(s, to, word)
			}
		}
	}
	return []row[throttleSum]{
		perPriority(gauge, semconv.MetricTenantsAbove, "{tenant}", "Tenants that take more than their fair share.",
			known(func(s *prioritySum, to *output, word string) { to.number(int64(s.Tenants.Above), word) })),
		perPriority(floatGauge, semconv.MetricTenantsLargest, "1", "Share of the calls that the largest tenant has asked for.",
			known(func(s *prioritySum, to *output, word string) { to.float(s.Tenants.Largest, word) })),
		perPriority(counter, semconv.MetricTenantsSheds, "{call}", "Calls shed of tenants that took more than their fair share.",
			known(func(s *prioritySum, to *output, word string) { to.count(s.Tenants.Shed, word) })),
	}
}

// loadRows returns the metrics of load reports: those that a server sends, and those that a client has
// received.
func loadRows() []row[throttleSum] {
	receiving := func(sum *throttleSum) bool { return sum.receiving > 0 }
	return []row[throttleSum]{
		perPriority(floatGauge, semconv.MetricLoadSent, "1", "Share of the calls that this server sheds, as it says to its clients.",
			func(s *prioritySum, to *output, word string) { to.float(s.sent, word) }).only(func(sum *throttleSum) bool { return sum.sending > 0 }),
		perPriority(floatGauge, semconv.MetricLoadReceived, "1", "Probability of shedding that the load reports of the backend ask for.",
			func(s *prioritySum, to *output, word string) { to.float(s.Told, word) }).only(receiving),
		{
			kind: gauge, name: semconv.MetricLoadState, unit: "{throttle}",
			help: "Throttles by what the backend said about its load in the last seconds.",
			keys: []attribute.Key{semconv.KeyLoad}, when: receiving,
			read: func(sum *throttleSum, to *output) {
				for n, word := range loadStates() {
					to.count(sum.loads[n], word)
				}
			},
		},
	}
}

// loadStates are the words of throttle.ReceivedStats, without that for a backend that said nothing.
func loadStates() [4]string {
	return [...]string{semconv.LoadCalm, semconv.LoadMixed, semconv.LoadOverloaded, semconv.LoadDoubted}
}

func (s *throttleSum) addLoad(stats *throttle.Stats) {
	if stats.SendsLoad {
		s.sending++
	}
	states := loadStates()
	if i := slices.Index(states[:], stats.Received.String()); i >= 0 {
		s.receiving++
		s.loads[i]++
	}
	for p := range stats.Priorities {
		s.priorities[p].sent = max(s.priorities[p].sent, stats.Load.Shed[p])
	}
}
