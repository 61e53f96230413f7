package otelthrottle

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
)

// collect reports what all sources show. It runs whenever somebody collects, and holds no lock of its own meanwhile.
func (tel *Telemetry) collect(_ context.Context, to metric.Observer) error {
	if tel.ended.Load() {
		return nil
	}
	each("throttle", tel.throttles, func(l *labels, r []reading) {
		c := collection{to: to, instruments: &tel.instruments, labels: l}
		c.report(r)
	})
	each("breaker", tel.breakers, func(l *breakerLabels, r breakerReading) {
		c := breakerCollection{to: to, instruments: &tel.instruments.breakers, labels: l}
		c.report(&r)
		c.detail(&r, tel.breakerDetail)
	})
	each("bucket", tel.buckets, func(l *bucketLabels, r bucketReading) {
		c := bucketCollection{to: to, instruments: &tel.instruments.buckets, labels: l}
		c.report(&r)
	})
	each("backoff", tel.backoffs, func(l *backoffLabels, r backoffReading) {
		c := backoffCollection{to: to, instruments: &tel.instruments.backoffs, labels: l}
		c.report(&r)
	})
	return nil
}

// each reports the sources of one system. An error of one source goes to otel.Handle: a reader may
// discard the whole collection if the callback returns it.
func each[M comparable, S, R, L any](system string, registry *byname.Registry[M, S, R, L], report func(L, R)) {
	for _, s := range registry.Sources() {
		sum, open, err := s.Read()
		if err != nil {
			otel.Handle(fmt.Errorf("otelthrottle: this collection leaves out %s %q: %w", system, s.Name, err))
		}
		if open {
			report(s.Data, sum)
		}
	}
}

// collection is the report of one source of throttles.
type collection struct {
	to          metric.Observer
	instruments *instruments
	labels      *labels
}

func (c *collection) report(readings []reading) {
	var clamped uint64
	for p := range readings {
		r := &readings[p]
		c.present(throttle.Priority(p), r)
		c.calls(throttle.Priority(p), r)
		c.each(r.fallbacks, labelKey{kind: byOutcome, priority: throttle.Priority(p)}, c.instruments.fallbacks)
		clamped += r.clamped
	}
	c.to.ObserveInt64(c.instruments.clamped, int64(clamped), c.labels.observeOptions(labelKey{kind: bySource})...)
}

// present reports what is true now.
func (c *collection) present(p throttle.Priority, r *reading) {
	options := c.labels.observeOptions(labelKey{kind: byPriority, priority: p})
	c.to.ObserveFloat64(c.instruments.probability, r.probability, options...)
	c.to.ObserveInt64(c.instruments.requests, int64(r.requests), options...)
	c.to.ObserveInt64(c.instruments.accepts, int64(r.accepts), options...)
	c.to.ObserveInt64(c.instruments.active, r.active, options...)
}

// calls reports all calls that ended. The accepted and the shed are there before the first of them, so that
// a rate has something to begin with.
func (c *collection) calls(p throttle.Priority, r *reading) {
	k := labelKey{kind: byDecision, priority: p, decision: DecisionAdmitted, outcome: throttle.Accepted}
	if r.admitted.Count(throttle.Accepted, throttle.FaultNone) == 0 {
		c.observe(c.instruments.calls, 0, k)
	}
	c.each(r.admitted, k, c.instruments.calls)
	for cause, shed := range r.shed.All() {
		k := labelKey{
			kind: byDecisionAndCause, priority: p, decision: DecisionShed,
			outcome: throttle.Shed, fault: throttle.FaultShed, cause: cause,
		}
		c.observe(c.instruments.calls, shed, k)
		k.decision = DecisionShadowShed
		c.each(r.shadow.Cause(cause), k, c.instruments.calls)
	}
}

// each reports the counts that are not 0, as series like k with their own outcome and fault.
func (c *collection) each(counts throttle.Totals, k labelKey, instrument metric.Int64Observable) {
	for total := range counts.All() {
		k.outcome, k.fault = total.Outcome, total.Fault
		c.observe(instrument, total.Calls, k)
	}
}

func (c *collection) observe(instrument metric.Int64Observable, n uint64, k labelKey) {
	c.to.ObserveInt64(instrument, int64(n), c.labels.observeOptions(k)...)
}
