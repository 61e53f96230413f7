package adaptive

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// longestStep is how many events a probability may be old, if not by a bin.
	longestStep = 16
	// requestsPerStep is how many requests the window must hold for each event that a probability may be old: with
	// fewer than that, every decision is exact.
	requestsPerStep = 64
)

// odds is the probability that decisions are taken at, and what is needed to know when to look again. Adding up the window for every
// decision would cost more than all the rest, and make busy goroutines wait for each other.
type odds struct {
	probability atomic.Uint64 // as math.Float64bits
	lookAt      atomic.Uint64 // how much news makes it out of date
	_           [48]byte
	news        atomic.Uint64 // events counted while watched; a bin's end is worth longestStep of them
	looking     sync.Mutex    // held by the one who looks
}

// keepUp closes the window's bin if it has ended, which makes the probability out of date. It must come before anything else
// that rolls the window, or the end of a bin would go unnoticed here.
func (t *Throttler) keepUp(now time.Duration) {
	if t.window.Due(now) {
		t.window.Roll(now)
		t.odds.news.Add(longestStep)
	}
}

// recentProbability returns the probability, which may be a few events old.
func (t *Throttler) recentProbability() float64 {
	if t.odds.news.Load() >= t.odds.lookAt.Load() {
		t.look()
	}
	return math.Float64frombits(t.odds.probability.Load())
}

// look brings the probability up to date, unless somebody is at it. It reads the news before the window, so that an event
// missing from its sums is still news afterwards.
func (t *Throttler) look() {
	if !t.odds.looking.TryLock() {
		return
	}
	defer t.odds.looking.Unlock()
	news := t.odds.news.Load()
	recent, ever := t.sum()
	t.odds.probability.Store(math.Float64bits(t.probabilityOf(recent)))
	t.odds.lookAt.Store(news + step(recent))
	if recent.refused() == 0 {
		t.relax(ever)
	}
}

// step is how many events may pass before the window must be looked at again.
func step(recent Counts) uint64 {
	if recent.refused() == 0 {
		return 1
	}
	return 1 + min(recent.Requests()/requestsPerStep, longestStep-1)
}

// relax stops watching, unless something was refused since the totals were taken. A refusal is counted first and watched for
// after that, while this stops watching first and looks at the counters after that: one of the two notices the other.
func (t *Throttler) relax(ever Counts) {
	t.watched.Store(false)
	if now := t.ever(); now.refused() != ever.refused() {
		t.watched.Store(true)
	}
}

// probabilityOf is the formula for what the window holds.
func (t *Throttler) probabilityOf(recent Counts) float64 {
	return throttleProbability(float64(recent.Requests()), float64(recent.Accepted), t.ratio, t.padding)
}
