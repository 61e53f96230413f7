package throttle

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/late"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The constants of the gate. examples/simulate plays the cases that they are made for.
const (
	// The gate closes for a priority if more than this share of the calls that were accepted in 2 s
	// went late: of the priority and of those above it. If fewer than fewAccepted were accepted, the
	// last 10 s must agree.
	mostLate    = 0.10
	fewAccepted = 50
	// The gate keeps totals per half second.
	markLength           = time.Second / 2
	shortMarks, numMarks = 4, 20
	// probeInterval is the longest time without an admitted call.
	probeInterval = time.Second
	// extraOfTop is the number of calls beyond the limit that the highest priority may have open. It would be refused
	// by chance otherwise if the limit is 1 or 2.
	extraOfTop = 2

	// With a learned Slow the backend is taken to accept this share of the usual calls at least. If its calls became
	// longer than T, the limit would fall to 0 otherwise.
	leastOfUsual = 0.8

	noLimit = math.MaxInt64
)

// gate holds the number of open calls to what the backend accepts in T, while calls are late. By
// Little's law, more open calls only wait longer. The limit of a priority counts its calls and those above it: calls of
// lower priorities that have begun before do not keep it out.
type gate struct {
	limits [MaxPriorities]atomic.Int64 // noLimit while the gate is open for the priority
	passed atomic.Int64                // time of the last admitted call while a limit applies

	// Of the watches with a learned Slow:
	full        atomic.Bool   // late calls wait in a queue
	queueLength atomic.Uint64 // bits of the mean
	failed      atomic.Int64  // late calls that ended without an answer
	trend       trend

	mu      sync.Mutex
	backlog backlog
	recent  smoothed        // length of the queue
	lasting smoothed        // the same in the mean of lastingMean
	at      int64           // number of the current half second
	marks   [numMarks]marks // totals at the begin of half seconds
	last    marks           // totals at the last update
}

// marks are totals by priority.
type marks struct {
	accepted, late [MaxPriorities]float64
	failed         float64       // late calls that ended without an answer, of all priorities
	at             time.Duration // of the update with these totals
}

// open opens a new gate. It remembers the totals of accepted calls.
func (g *gate) open(now time.Duration, accepted [MaxPriorities]window.Counts) {
	g.last.at = now
	for p := range g.limits {
		g.limits[p].Store(noLimit)
		g.last.accepted[p] = float64(accepted[p].Accepted)
	}
	for i := range g.marks {
		g.marks[i] = g.last
	}
}

// update computes the limits of a watch from the totals of accepted calls and from the late calls that
// were found.
func (g *gate) update(now time.Duration, w *watch, accepted []window.Counts, f *late.Found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mark(int64(now / markLength))
	m := &g.last
	for p := range accepted {
		m.accepted[p] = float64(accepted[p].Accepted)
		m.late[p] += float64(f.Late[p])
	}
	m.failed, m.at = float64(g.failed.Load()), now
	short, long := m.minus(g.before(shortMarks)), m.minus(g.before(numMarks))
	rate := short.rate()
	holds := f.Open > 0
	if w.learner != nil {
		rate = max(rate, leastOfUsual*w.learner.usualRate())
		g.measureQueue(now, w, rate)
		holds = g.findBacklog(now, holds && tooLate(&short, &long, len(accepted)-1)) && holds
	}
	for p := range accepted {
		limit := int64(noLimit)
		if holds && tooLate(&short, &long, p) {
			limit = limitOf(p, len(accepted), rate*w.slow.Seconds())
		}
		if old := g.limits[p].Swap(limit); old == noLimit && limit != noLimit {
			g.passed.Store(int64(now))
		}
	}
}

// mark stores the totals of the last update for the half seconds that have begun since.
func (g *gate) mark(at int64) {
	for g.at = max(g.at, at-numMarks); g.at < at; {
		g.at++
		g.marks[g.at%numMarks] = g.last
	}
}

// before returns the totals before the current half second and n-1 others.
func (g *gate) before(n int64) *marks { return &g.marks[max(0, g.at-n+1)%numMarks] }

func (m *marks) minus(before *marks) marks {
	d := *m
	for p := range d.late {
		d.accepted[p] -= before.accepted[p]
		d.late[p] -= before.late[p]
	}
	d.failed, d.at = d.failed-before.failed, d.at-before.at
	return d
}

// rate returns the accepted calls per second of a difference of shortMarks. With a long Slow or few calls, updates are
// rarer than marks, and it holds the calls of a longer time.
func (m *marks) rate() float64 {
	span := time.Duration(shortMarks * markLength)
	if m.at > span+markLength {
		span = m.at
	}
	return sum(m.accepted[:]) / span.Seconds()
}

// tooLate reports whether too many calls of priority p and of those above it went late.
func tooLate(short, long *marks, p int) bool {
	accepted, tooMany := short.exceeds(p)
	if tooMany && accepted < fewAccepted {
		_, tooMany = long.exceeds(p)
	}
	return tooMany
}

func (m *marks) exceeds(p int) (accepted float64, tooMany bool) {
	accepted = sum(m.accepted[:p+1])
	return accepted, sum(m.late[:p+1]) > mostLate*accepted
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// limitOf returns the number of open calls at which priority p of n is refused, if the backend accepts
// this number in T.
func limitOf(p, n int, accepted float64) int64 {
	limit := max(1, int64(shareOf(p, n)*max(1, accepted)))
	if p == 0 {
		limit += extraOfTop
	}
	return limit
}

// shareOf returns the share of the limit that priority p of n may use: from 1 to 0.6.
func shareOf(p, n int) float64 {
	shares := [...]float64{1, 0.9, 0.75, 0.6, 0.6}
	x := float64(p) / float64(max(1, n-1)) * 3
	i := int(x)
	return shares[i] + (x-float64(i))*(shares[i+1]-shares[i])
}

// refuses reports whether the gate refuses a call of priority p. If no call was admitted for a while, one
// is, to notice when the backend recovers. If the clock was set back, the gate opens: its limit would stay.
func (g *gate) refuses(p Priority, ring *late.Ring, now time.Duration) bool {
	limit := g.limits[p].Load()
	if limit == noLimit {
		return false
	}
	if ring.Ahead(now) {
		for i := range g.limits {
			g.limits[i].Store(noLimit)
		}
		return false
	}
	if ring.OpenTo(int(p)) < limit {
		g.passed.Store(int64(now))
		return false
	}
	last := g.passed.Load()
	age := now - time.Duration(last) // negative if the clock has gone back
	return age < probeInterval && age > -probeInterval || !g.passed.CompareAndSwap(last, int64(now))
}

// isClosed reports whether one of the first n priorities has a limit.
func (g *gate) isClosed(n int) bool {
	for p := range n {
		if g.limits[p].Load() != noLimit {
			return true
		}
	}
	return false
}

// limit returns the limit of priority p, or 0 if there is none.
func (g *gate) limit(p Priority) int64 {
	if limit := g.limits[p].Load(); limit != noLimit {
		return limit
	}
	return 0
}
