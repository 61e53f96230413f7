package breaker

import (
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// valid reports whether the counts are finite and not negative.
func (n PollResult) valid() bool {
	return n.Failures >= 0 && n.Successes >= 0 && !math.IsInf(n.Failures+n.Successes, 0)
}

func (n PollResult) requests() float64 { return n.Failures + n.Successes }

func (n PollResult) failing(threshold float64) bool {
	return 100*n.Failures >= threshold*n.requests()
}

// machine moves one circuit. It does no I/O and reads no clock: time, results and a random number
// are fields.
type machine struct {
	record
	settings *Config
	now      time.Time  // by the store's clock
	random   float64    // from [0, 1), for Jitter
	results  PollResult // since the circuit's last change

	events  []Event
	changed bool // the record must be written
}

func (m *machine) evaluate() {
	if m.settings.Mode == throttle.ModeOff {
		return
	}
	if m.Shadow && m.settings.Mode == throttle.ModeEnforce {
		before := m.State
		m.forget()
		if m.Shadow, m.changed = false, true; before != Closed {
			return
		}
	}
	if m.endsOnlyByHand() {
		return
	}
	m.clampTimes()
	m.recordCalls()
	if m.now.Sub(latest(m.ChangedAt, m.openUntil, m.calledAt)) > m.settings.Retention {
		m.forget()
		return
	}
	if m.State == Open && !m.now.Before(m.openUntil) {
		m.moveTo(HalfOpen, ReasonTimeOver)
		m.countSince = m.openUntil
	}
	switch m.State {
	case HalfOpen:
		m.evaluateProbes()
	case Closed:
		m.evaluateCalls()
	}
}

// clampTimes moves times in the future back to now: the store's clock was set back, and circuits
// must not wait for the old time.
func (m *machine) clampTimes() {
	clamp := func(t *time.Time, last time.Time) {
		if last.Before(*t) {
			*t, m.changed = last, true
		}
	}
	clamp(&m.ChangedAt, m.now)
	clamp(&m.countSince, m.now)
	clamp(&m.calledAt, m.now)
	clamp(&m.openUntil, m.now.Add(m.settings.MaxBreakerTimeout))
}

// recordCalls updates calledAt. Each update is a write, so it is exact only for the first results
// of a half-open circuit. For a closed circuit it is updated after an eighth of Retention.
func (m *machine) recordCalls() {
	update := m.now.Sub(m.calledAt) >= m.settings.Retention/8
	if m.State != Closed {
		update = !m.now.Before(m.openUntil) && m.calledAt.Before(m.openUntil)
	}
	if update && m.results.requests() > 0 {
		m.calledAt, m.changed = m.now, true
	}
}

func (m *machine) forget() {
	if m.State != Closed {
		m.close(ReasonForgotten) // the closed record is kept for a while: see shard.misses
	}
	m.clearTrips()
}

func (m *machine) clearTrips() {
	m.changed = m.changed || m.Trips > 0
	m.Trips = 0
}

// undecidedFactor is how many times the required results may leave a half-open circuit undecided.
// With more, an endpoint whose failure rate is between the thresholds would stay half-open for
// long.
const undecidedFactor = 2

// evaluateProbes decides a half-open circuit if there are enough results, or if HalfOpenMax has
// passed since the first one.
func (m *machine) evaluateProbes() {
	s, n := m.settings, m.results
	needed := float64(min(s.HalfOpenProbes, s.MinimumRequestCount))
	overdue := !m.calledAt.Before(m.openUntil) && m.now.Sub(m.calledAt) >= s.HalfOpenMax
	switch {
	case n.requests() == 0, n.requests() < needed && !overdue:
	case 100*n.Successes >= s.SuccessThreshold*n.requests():
		m.close(ReasonRecovered)
	case !s.enoughReporters(n): // one machine with a broken network
	case n.failing(s.FailureThreshold):
		m.trip(ReasonFailing)
	case overdue, n.requests() >= undecidedFactor*needed:
		m.trip(ReasonUndecided)
	}
}

// evaluateCalls decides a closed circuit. It clears the trips after ConsecutiveResetAfter.
func (m *machine) evaluateCalls() {
	s, n := m.settings, m.results
	switch {
	case s.shouldOpen(n):
		m.trip(ReasonFailing)
	case m.now.Sub(m.ChangedAt) >= s.ConsecutiveResetAfter && n.requests() >= float64(s.MinimumRequestCount):
		m.clearTrips()
	}
}

// shouldOpen reports whether the results open a closed circuit.
func (c *Config) shouldOpen(n PollResult) bool {
	return n.requests() >= float64(c.MinimumRequestCount) && n.failing(c.FailureThreshold) && c.enoughReporters(n)
}

// enoughReporters reports whether enough managers have seen failures. It returns true if the poll
// does not count them.
func (c *Config) enoughReporters(n PollResult) bool {
	return n.Reporters == 0 || n.Reporters >= c.MinReporters
}

func (m *machine) trip(reason Reason) {
	m.Generation++
	m.Trips++
	if n := m.settings.ConsecutiveFailureThreshold; n > 0 && m.Trips >= n {
		m.moveTo(Disabled, ReasonTooManyTrips)
		return
	}
	d, longest := m.settings.BreakerTimeout, m.settings.MaxBreakerTimeout
	for n := 1; n < m.Trips && d < longest; n++ {
		d = min(2*d, longest)
	}
	m.openUntil = m.now.Add(d - time.Duration(m.settings.Jitter*m.random*float64(d)))
	m.moveTo(Open, reason)
}

// close closes the circuit. It keeps the trips until ConsecutiveResetAfter.
func (m *machine) close(reason Reason) {
	m.Generation++
	m.moveTo(Closed, reason)
	m.countSince = m.now
}

func (m *machine) moveTo(to State, reason Reason) {
	m.events = append(m.events, Event{
		Breaker: m.settings.Name, Key: m.Key, From: m.State, To: to, Reason: reason, Trips: m.Trips, Generation: m.Generation,
		At: m.now, Failures: m.results.Failures, Successes: m.results.Successes, Shadow: m.settings.Mode != throttle.ModeEnforce,
	})
	m.State, m.Reason, m.ChangedAt, m.changed = to, reason, m.now, true
	if reason != ReasonTimeOver { // no decision of a mode: what had opened in ModeEnforce stays known to it
		m.Shadow = m.settings.Mode == throttle.ModeShadow && reason != ReasonByHand
	}
	m.Failures, m.Successes = m.results.Failures, m.results.Successes
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
