package otelthrottle

import (
	"errors"
	"slices"

	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// throttleInstruments are the metrics of throttles.
type throttleInstruments struct {
	calls       metric.Int64ObservableCounter
	active      metric.Int64ObservableUpDownCounter
	probability metric.Float64ObservableGauge
	requests    metric.Int64ObservableGauge
	accepts     metric.Int64ObservableGauge
	fallbacks   metric.Int64ObservableCounter
	clamped     metric.Int64ObservableCounter
	state       metric.Int64ObservableGauge
	background  metric.Float64ObservableGauge
	mode        metric.Int64ObservableGauge
	exempt      metric.Int64ObservableCounter
	overloads   metric.Int64ObservableCounter

	load    loadInstruments
	tenants tenantInstruments
	slow    slowInstruments
}

func newThrottleInstruments(meter metric.Meter) (throttleInstruments, error) {
	var i throttleInstruments
	errs := make([]error, 16)
	i.calls, errs[0] = meter.Int64ObservableCounter(semconv.MetricCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that ended or were shed, by decision and outcome."))
	i.active, errs[1] = meter.Int64ObservableUpDownCounter(semconv.MetricCallActive, metric.WithUnit(unitCall),
		metric.WithDescription("Admitted calls in flight."))
	i.probability, errs[2] = meter.Float64ObservableGauge(semconv.MetricRejectionProbability, metric.WithUnit(unitRatio),
		metric.WithDescription("Probability that the next call is shed."))
	i.requests, errs[3] = meter.Int64ObservableGauge(semconv.MetricWindowRequests, metric.WithUnit(unitRequest),
		metric.WithDescription("Calls in the window that decisions are based on."))
	i.accepts, errs[4] = meter.Int64ObservableGauge(semconv.MetricWindowAccepts, metric.WithUnit(unitRequest),
		metric.WithDescription("Calls in the window that the backend accepted."))
	i.fallbacks, errs[5] = meter.Int64ObservableCounter(semconv.MetricFallbacks, metric.WithUnit(unitCall),
		metric.WithDescription("Fallbacks, by the outcome of the call and the error of the fallback."))
	i.clamped, errs[6] = meter.Int64ObservableCounter(semconv.MetricPriorityClamped, metric.WithUnit(unitCall),
		metric.WithDescription("Calls whose priority was out of range."))
	i.state, errs[7] = meter.Int64ObservableGauge(semconv.MetricPolicyState, metric.WithUnit(unitThrottle),
		metric.WithDescription("Throttles with the policy Tiered, by the reason of their alert."))
	i.background, errs[8] = meter.Float64ObservableGauge(semconv.MetricPolicyBackground, metric.WithUnit(unitRatio),
		metric.WithDescription("Share of the calls whose rejection is not taken for overload."))
	i.mode, errs[11] = meter.Int64ObservableGauge(semconv.MetricMode, metric.WithUnit(unitThrottle),
		metric.WithDescription("Throttles by mode, and whether it is that of the code or of an override."))
	i.exempt, errs[12] = meter.Int64ObservableCounter(semconv.MetricCallsExempt, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that were served without a decision, such as health checks."))
	i.overloads, errs[13] = meter.Int64ObservableCounter(semconv.MetricOverloads, metric.WithUnit(unitCall),
		metric.WithDescription("Rejected calls of which the backend said that it is full."))
	i.load, errs[14] = newLoadInstruments(meter)
	i.tenants, errs[15] = newTenantInstruments(meter)
	i.slow, errs[10] = newSlowInstruments(meter)
	return i, errors.Join(errs...)
}

// observed returns the instruments that the callback reports.
func (i *throttleInstruments) observed() []metric.Observable {
	own := []metric.Observable{i.calls, i.active, i.probability, i.requests, i.accepts, i.fallbacks, i.clamped, i.state, i.background, i.mode, i.exempt, i.overloads}
	return slices.Concat(own, i.load.observed(), i.tenants.observed(), i.slow.observed())
}

// throttleReport reports one source of throttles.
type throttleReport struct {
	to          metric.Observer
	instruments *throttleInstruments
	attributes  *throttleAttributes
}

func (r *throttleReport) report(sum throttleSum) {
	var clamped uint64
	for i := range sum.priorities {
		p, s := throttle.Priority(i), &sum.priorities[i]
		r.reportState(p, s)
		r.reportCalls(p, s, &sum)
		r.observeTotals(r.instruments.fallbacks, s.fallbacks, seriesKey{kind: byOutcome, priority: p})
		if s.full > 0 {
			r.observe(r.instruments.overloads, s.full, seriesKey{kind: byPriority, priority: p})
		}
		r.reportTenants(p, &s.tenants)
		clamped += s.clamped
	}
	r.observe(r.instruments.clamped, clamped, seriesKey{kind: bySource})
	if sum.serving > 0 || sum.exempt > 0 {
		r.observe(r.instruments.exempt, sum.exempt, seriesKey{kind: bySource})
	}
	if sum.tiered > 0 {
		r.reportPolicy(&sum)
	}
	r.reportLoad(&sum)
	r.reportSlow(&sum)
	r.reportModes(semconv.ModeOfCode, &sum.modes)
	r.reportModes(semconv.ModeOfOverride, &sum.overridden)
}

// reportPolicy reports the state of the policy Tiered, with a series for every reason.
func (r *throttleReport) reportPolicy(sum *throttleSum) {
	for alert, n := range sum.alerts {
		r.observe(r.instruments.state, n, seriesKey{kind: byAlert, alert: throttle.AlertReason(alert)})
	}
	r.to.ObserveFloat64(r.instruments.background, sum.background, r.attributes.observeOptions(seriesKey{kind: bySource})...)
}

// reportModes reports how many throttles have each mode. There are no series of 0: most throttles never change
// their mode.
func (r *throttleReport) reportModes(source string, modes *[throttle.ModeOff + 1]uint64) {
	for mode, n := range modes {
		if n > 0 {
			r.observe(r.instruments.mode, n, seriesKey{kind: byMode, mode: throttle.Mode(mode), source: source})
		}
	}
}

// reportState reports the gauges and the calls in flight.
func (r *throttleReport) reportState(p throttle.Priority, s *prioritySum) {
	options := r.attributes.observeOptions(seriesKey{kind: byPriority, priority: p})
	r.to.ObserveFloat64(r.instruments.probability, s.probability, options...)
	r.to.ObserveInt64(r.instruments.requests, int64(s.requests), options...)
	r.to.ObserveInt64(r.instruments.accepts, int64(s.accepts), options...)
	r.to.ObserveInt64(r.instruments.active, s.active, options...)
}

// reportCalls reports the calls that ended or were shed. The series of accepted and of shed calls
// start at 0, so that rates include the first call. Those of CauseLimit do so with Config.Slow, those of
// CauseProcessor in servers, and those of CauseTold in clients that receive load reports.
func (r *throttleReport) reportCalls(p throttle.Priority, s *prioritySum, sum *throttleSum) {
	expected := [...]bool{
		throttle.CauseOwn: true, throttle.CauseAbove: true, throttle.CauseLimit: sum.slow.throttles > 0,
		throttle.CauseProcessor: sum.serving > 0, throttle.CauseTold: sum.load.receiving > 0,
	}
	k := seriesKey{kind: byDecision, priority: p, decision: semconv.DecisionAdmitted, outcome: throttle.Accepted}
	if s.admitted.Count(throttle.Accepted, throttle.FaultNone) == 0 {
		r.observe(r.instruments.calls, 0, k)
	}
	r.observeTotals(r.instruments.calls, s.admitted, k)
	for cause, shed := range s.shed.All() {
		k := seriesKey{
			kind: byDecisionAndCause, priority: p, decision: semconv.DecisionShed,
			outcome: throttle.Shed, fault: throttle.FaultShed, cause: cause,
		}
		if shed > 0 || expected[cause] {
			r.observe(r.instruments.calls, shed, k)
		}
		k.decision = semconv.DecisionShadowShed
		r.observeTotals(r.instruments.calls, s.shadow.Cause(cause), k)
	}
}

// observeTotals reports each count that is not 0 as a series like k, with its own outcome and
// fault.
func (r *throttleReport) observeTotals(instrument metric.Int64Observable, totals throttle.Totals, k seriesKey) {
	for total := range totals.All() {
		k.outcome, k.fault = total.Outcome, total.Fault
		r.observe(instrument, total.Calls, k)
	}
}

func (r *throttleReport) observe(instrument metric.Int64Observable, n uint64, k seriesKey) {
	r.to.ObserveInt64(instrument, int64(n), r.attributes.observeOptions(k)...)
}
