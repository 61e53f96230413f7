package breaker

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// counts is how the calls of one circuit ended, as far as they are of account.
type counts struct {
	failures, successes float64
	reporters           int
}

// sane reports whether the counts are any.
func (n counts) valid() bool {
	return n.failures >= 0 && n.successes >= 0 && !math.IsInf(n.failures+n.successes, 0)
}

func (n counts) requests() float64 { return n.failures + n.successes }

// failing reports whether the percentage of failures is at least the threshold.
func (n counts) failing(threshold float64) bool {
	return 100*n.failures >= threshold*n.requests()
}

func (n counts) succeeding(threshold float64) bool {
	return 100*n.successes >= threshold*n.requests()
}

// machine moves one circuit. It knows no store and no clock: it is given the time, what was counted, and a random number.
type machine struct {
	settings *Config
	now      time.Time // by the store's clock
	random   float64   // from [0, 1), for the jitter
	counts   counts

	record record // as it was, then as it is to be
	events []Event
}

// evaluate moves the circuit as far as its counts and its time say, and reports whether anything is to be written.
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

// mendTimes brings back times that the store's clock has not come to yet: it was set back, and nobody is to wait until it is there again.
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

// noteCalls notes when the circuit was called, as exactly as it matters: the first results of a half-open circuit, and otherwise
// seldom, because each note is a write.
func (m *machine) recordCalls() bool {
	r := &m.record
	if m.counts.requests() == 0 {
		return false
	}
	news := m.now.Sub(r.calledAt) >= m.settings.Retention/8
	if r.state != Closed {
		news = !m.now.Before(r.openUntil) && r.calledAt.Before(r.openUntil)
	}
	if !news {
		return false
	}
	r.calledAt = m.now
	return true
}

// expired reports whether nobody has called the circuit for so long that its past is of no account.
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

// forget forgets the circuit's past, and reports whether it had any.
func (m *machine) forget() bool {
	past := m.record.state != Closed || m.record.trips > 0
	if m.record.state != Closed {
		m.record.generation++
		m.moveTo(Closed, ReasonForgotten)
		m.record.countSince = m.now // so that it lies there closed for a while: see shard.misses
	}
	m.record.trips = 0
	return past
}

// drawAt is how many times the results that are needed may leave a circuit undecided. More would not help: an endpoint whose share of
// failures lies near the threshold would stay half-open by chance, for long.
const undecidedFactor = 2

// evaluateProbes decides a half-open circuit, if there are results enough, or if it has had long enough since the first of them.
func (m *machine) evaluateProbes() bool {
	needed := min(m.settings.HalfOpenProbes, m.settings.MinimumRequestCount)
	overdue := !m.record.calledAt.Before(m.record.openUntil) && m.now.Sub(m.record.calledAt) >= m.settings.HalfOpenMax
	switch n := m.counts; {
	case n.requests() == 0, n.requests() < float64(needed) && !overdue:
		return false
	case n.succeeding(m.settings.SuccessThreshold):
		m.close(ReasonRecovered)
	case !m.settings.enoughReporters(n): // one agent with a broken network
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

// evaluateCalls decides a closed circuit, and forgets its trips when it has been well for long enough.
func (m *machine) evaluateCalls() bool {
	s, n := m.settings, m.counts
	if s.shouldOpen(n) {
		m.trip(ReasonFailing)
		return true
	}
	wellFor := m.now.Sub(m.record.changedAt)
	if m.record.trips == 0 || wellFor < s.ConsecutiveResetAfter || n.requests() < float64(s.MinimumRequestCount) {
		return false
	}
	m.record.trips = 0
	return true
}

// trips reports whether the counts open a closed circuit.
func (c *Config) shouldOpen(n counts) bool {
	return n.requests() >= float64(c.MinimumRequestCount) && n.failing(c.FailureThreshold) && c.enoughReporters(n)
}

// believes reports whether agents enough have seen failures, if anybody knows.
func (c *Config) enoughReporters(n counts) bool {
	return n.reporters == 0 || n.reporters >= c.MinReporters
}

// trip opens the circuit, or disables it if it has tripped too often in a row.
func (m *machine) trip(why Reason) {
	r := &m.record
	r.generation++
	r.trips++
	if n := m.settings.ConsecutiveFailureThreshold; n > 0 && r.trips >= n {
		m.moveTo(Disabled, ReasonTooManyTrips)
		return
	}
	r.openUntil = m.now.Add(m.settings.openFor(r.trips, m.random))
	m.moveTo(Open, why)
}

// openFor is how long a circuit stays open at its so many-th trip.
func (c *Config) openFor(trips int, draw float64) time.Duration {
	d := c.BreakerTimeout
	for range trips - 1 {
		if d >= c.MaxBreakerTimeout/2 {
			d = c.MaxBreakerTimeout
			break
		}
		d *= 2
	}
	return d - time.Duration(c.Jitter*draw*float64(d))
}

// close closes the circuit. Its trips are remembered, until it has been well for long enough.
func (m *machine) close(why Reason) {
	m.record.generation++
	m.moveTo(Closed, why)
	m.record.countSince = m.now
}

// moveTo changes the state and tells of it.
func (m *machine) moveTo(to State, why Reason) {
	r := &m.record
	m.events = append(m.events, Event{
		Breaker: m.settings.Name, Key: r.key, From: r.state, To: to, Reason: why, Trips: r.trips, Generation: r.generation,
		At: m.now, Failures: m.counts.failures, Successes: m.counts.successes, Shadow: m.settings.Mode != throttle.ModeEnforce,
	})
	r.state, r.reason, r.changedAt, r.shadow = to, why, m.now, m.settings.Mode == throttle.ModeShadow && why != ReasonByHand
	r.failures, r.successes = m.counts.failures, m.counts.successes
}

// blank reports whether the record says nothing that its absence would not say.
func (r *record) removable(now time.Time, window time.Duration) bool {
	return r.state == Closed && !r.forced && r.trips == 0 && len(r.pending) == 0 && now.Sub(r.countSince) >= window
}

// since returns from when on the circuit's calls are of account.
func (r *record) countFrom(now time.Time) time.Time {
	if r.state == Open && !now.Before(r.openUntil) {
		return r.openUntil
	}
	return earlier(r.countSince, now)
}
