package throttle

import "time"

// The constants of the rule that separates a full backend from a slower one. examples/simulate plays the cases
// that they are made for.
const (
	// A backend is full too if that many calls, and at least this share of the ended ones, ended late and
	// without an answer in 2 s.
	fewFailed, leastFailed = 5, 0.25
	// It was not full if calls are late although they are limited, and it accepts less than this share of what it
	// accepted two seconds before: a full one accepts as many. Fewer than fewKept calls say nothing. What it accepted
	// before never rises, and falls by slowlyLess at most in two seconds. Times that grow say nothing for afterRelease,
	// because they may be those of the calls that come back.
	leastKept, fewKept = 0.6, 100
	slowlyLess         = 0.8
	afterRelease       = 10 * time.Second
	// What was found is forgotten if there was hardly a queue for this long.
	backlogMemory = 8 * time.Second
)

// backlog is what a gate has found out about a queue in the backend, with a learned Slow.
type backlog struct {
	found bool
	seen  time.Duration // when it lasted last
	since time.Duration // when rate was measured
	rate  float64       // accepted calls per second
	quiet time.Duration // until then, times that grow say nothing
}

// findBacklog reports whether late calls wait in a queue. Suspected means that many are late.
func (g *gate) findBacklog(now time.Duration, suspected bool) bool {
	b, short, span := &g.backlog, g.last.minus(g.before(shortMarks)), g.shortSpan(now)
	grew, rate := g.trend.take(), sum(short.accepted[:])/span.Seconds()
	switch {
	case b.found && suspected && b.collapses(now, span, &short):
		*b = backlog{quiet: now + afterRelease}
	case b.found && g.lasting.value >= leastLength:
		b.seen = now
		if now-b.since > span {
			b.since, b.rate = now, max(slowlyLess*b.rate, min(b.rate, rate))
		}
	case b.found:
		b.found = now-b.seen <= backlogMemory
	case suspected && (grew && now >= b.quiet || short.fails()):
		*b = backlog{found: true, seen: now, since: now, rate: rate}
	}
	g.full.Store(b.found)
	return b.found
}

// shortSpan returns the time since the first of the short marks.
func (g *gate) shortSpan(now time.Duration) time.Duration {
	return now - time.Duration(g.at-shortMarks+1)*markLength
}

// collapses reports whether the backend accepts much less since its calls are limited. Calls whose callers did not
// wait long enough would have been accepted.
func (b *backlog) collapses(now, span time.Duration, short *marks) bool {
	before := b.rate * span.Seconds()
	return now-b.since > span && before >= fewKept && sum(short.accepted[:])+short.failed < leastKept*before
}

// fails reports whether many calls ended late and without an answer.
func (m *marks) fails() bool {
	return m.failed >= fewFailed && m.failed >= leastFailed*(sum(m.accepted[:])+m.failed)
}
