package breaker

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// counts are the results of one circuit since its last change.
type counts struct {
	failures, successes float64
	reporters           int
}

// valid reports whether the counts are finite and not negative.
func (n counts) valid() bool {
	return n.failures >= 0 && n.successes >= 0 && !math.IsInf(n.failures+n.successes, 0)
}

func (n counts) requests() float64 { return n.failures + n.successes }

// failing reports whether the percentage of failures is at least threshold.
func (n counts) failing(threshold float64) bool {
	return 100*n.failures >= threshold*n.requests()
}

func (n counts) succeeding(threshold float64) bool {
	return 100*n.successes >= threshold*n.requests()
}

// machine moves one circuit. It does no I/O and reads no clock: time, counts and a random number
// are fields.
type machine struct {
	settings *Config
	now      time.Time // by the store's clock
	random   float64   // from [0, 1), for Jitter
	counts   counts

	record record // updated by evaluate
	events []Event
}

// evaluate moves the circuit according to its counts and the time. It reports whether the record
// must be written.
func (m *machine) evaluate() bool {
	if m.settings.Mode == throttle.ModeOff {
		return false
	}
	if m.record.shadow && m.settings.Mode == throttle.ModeEnforce {
		return m.forget()
	}
	if m.record.forced || m.record.state == Disabled {
		return false
	}
	written := m.clampTimes()
	written = m.recordCalls() || written
	if m.expired() {
		return m.forget() || written
	}
	if m.record.state == Open && !m.now.Before(m.record.openUntil) {
		m.moveTo(HalfOpen, ReasonTimeOver)
		m.record.countSince = m.record.openUntil
	}
	switch m.record.state {
	case HalfOpen:
		written = m.evaluateProbes() || written
	case Closed:
		written = m.evaluateCalls() || written
	}
	return written || len(m.events) > 0
}

// clampTimes moves times in the future back to now: the store's clock was set back, and circuits
// must not wait for the old time.
func (m *machine) clampTimes() bool {
	r, before := &m.record, m.record
	r.changedAt, r.countSince, r.calledAt = earlier(r.changedAt, m.now), earlier(r.countSince, m.now), earlier(r.calledAt, m.now)
	r.openUntil = earlier(r.openUntil, m.now.Add(m.settings.MaxBreakerTimeout))
	return r.changedAt != before.changedAt || r.countSince != before.countSince || r.calledAt != before.calledAt || r.openUntil != before.openUntil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// recordCalls updates calledAt. Each update is a write, so it is exact only for the first results
// of a half-open circuit. For a closed circuit it is updated after an eighth of Retention.
func (m *machine) recordCalls() bool {
	r := &m.record
	if m.counts.requests() == 0 {
		return false
	}
	update := m.now.Sub(r.calledAt) >= m.settings.Retention/8
	if r.state != Closed {
		update = !m.now.Before(r.openUntil) && r.calledAt.Before(r.openUntil)
	}
	if !update {
		return false
	}
	r.calledAt = m.now
	return true
}

// expired reports whether the circuit had no calls for longer than Retention.
func (m *machine) expired() bool {
	last := latest(m.record.changedAt, m.record.openUntil, m.record.calledAt)
	return m.now.Sub(last) > m.settings.Retention
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// forget closes the circuit and clears its trips. It reports whether there was anything to clear.
func (m *machine) forget() bool {
	changed := m.record.state != Closed || m.record.trips > 0
	if m.record.state != Closed {
		m.record.generation++
		m.moveTo(Closed, ReasonForgotten)
		m.record.countSince = m.now // keeps the closed record for a while: see shard.misses
	}
	m.record.trips = 0
	return changed
}

// undecidedFactor is how many times the required results may leave a half-open circuit undecided.
// With more, an endpoint whose failure rate is between the thresholds would stay half-open for
// long.
const undecidedFactor = 2

// evaluateProbes decides a half-open circuit if there are enough results, or if HalfOpenMax has
// passed since the first one.
func (m *machine) evaluateProbes() bool {
	needed := min(m.settings.HalfOpenProbes, m.settings.MinimumRequestCount)
	overdue := !m.record.calledAt.Before(m.record.openUntil) && m.now.Sub(m.record.calledAt) >= m.settings.HalfOpenMax
	switch n := m.counts; {
	case n.requests() == 0, n.requests() < float64(needed) && !overdue:
		return false
	case n.succeeding(m.settings.SuccessThreshold):
		m.close(ReasonRecovered)
	case !m.settings.enoughReporters(n): // one machine with a broken network
		return false
	case n.failing(m.settings.FailureThreshold):
		m.trip(ReasonFailing)
	case overdue, n.requests() >= float64(undecidedFactor*needed):
		m.trip(ReasonUndecided)
	default:
		return false
	}
	return true
}

// evaluateCalls decides a closed circuit. It clears the trips after ConsecutiveResetAfter.
func (m *machine) evaluateCalls() bool {
	s, n := m.settings, m.counts
	if s.shouldOpen(n) {
		m.trip(ReasonFailing)
		return true
	}
	closedFor := m.now.Sub(m.record.changedAt)
	if m.record.trips == 0 || closedFor < s.ConsecutiveResetAfter || n.requests() < float64(s.MinimumRequestCount) {
		return false
	}
	m.record.trips = 0
	return true
}

// shouldOpen reports whether the counts open a closed circuit.
func (c *Config) shouldOpen(n counts) bool {
	return n.requests() >= float64(c.MinimumRequestCount) && n.failing(c.FailureThreshold) && c.enoughReporters(n)
}

// enoughReporters reports whether enough managers have seen failures. It returns true if the poll
// does not count them.
func (c *Config) enoughReporters(n counts) bool {
	return n.reporters == 0 || n.reporters >= c.MinReporters
}

// trip opens the circuit, or disables it after too many consecutive trips.
func (m *machine) trip(reason Reason) {
	r := &m.record
	r.generation++
	r.trips++
	if n := m.settings.ConsecutiveFailureThreshold; n > 0 && r.trips >= n {
		m.moveTo(Disabled, ReasonTooManyTrips)
		return
	}
	r.openUntil = m.now.Add(m.settings.openFor(r.trips, m.random))
	m.moveTo(Open, reason)
}

// openFor returns how long a circuit stays open after the given number of consecutive trips.
func (c *Config) openFor(trips int, random float64) time.Duration {
	d := c.BreakerTimeout
	for range trips - 1 {
		if d >= c.MaxBreakerTimeout/2 {
			d = c.MaxBreakerTimeout
			break
		}
		d *= 2
	}
	return d - time.Duration(c.Jitter*random*float64(d))
}

// close closes the circuit. It keeps the trips until ConsecutiveResetAfter.
func (m *machine) close(reason Reason) {
	m.record.generation++
	m.moveTo(Closed, reason)
	m.record.countSince = m.now
}

// moveTo changes the state and adds an event.
func (m *machine) moveTo(to State, reason Reason) {
	r := &m.record
	m.events = append(m.events, Event{
		Breaker: m.settings.Name, Key: r.key, From: r.state, To: to, Reason: reason, Trips: r.trips, Generation: r.generation,
		At: m.now, Failures: m.counts.failures, Successes: m.counts.successes, Shadow: m.settings.Mode != throttle.ModeEnforce,
	})
	r.state, r.reason, r.changedAt, r.shadow = to, reason, m.now, m.settings.Mode == throttle.ModeShadow && reason != ReasonByHand
	r.failures, r.successes = m.counts.failures, m.counts.successes
}

// removable reports whether the record can be deleted: it differs in nothing from a circuit without
// a record.
func (r *record) removable(now time.Time, window time.Duration) bool {
	return r.state == Closed && !r.forced && r.trips == 0 && len(r.pending) == 0 && now.Sub(r.countSince) >= window
}

// countFrom returns the time after which results count.
func (r *record) countFrom(now time.Time) time.Time {
	if r.state == Open && !now.Before(r.openUntil) {
		return r.openUntil
	}
	return earlier(r.countSince, now)
}
