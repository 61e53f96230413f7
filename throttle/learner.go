package throttle

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The constants of the rule that learns Slow.
const (
	// A period has at least this length and this number of accepted calls. The first ones are shorter,
	// because a backend may be full from the first call on.
	learningPeriod   = 10 * time.Second
	leastLearnedFrom = 50
	// A period in which more than this share of the calls was shed teaches nothing.
	mostShedToLearn = 0.01
	// The learned Slow is this factor times the median of the mean times of numPeriods periods. A call that
	// takes longer than the learned Slow counts as one of that time, so that few slow calls change little.
	learnedRatio    = 5
	numPeriods      = 5
	shortestLearned = 50 * time.Millisecond
)

// learner computes Slow from the durations of accepted calls.
type learner struct {
	learned atomic.Int64 // a time.Duration, or 0 before the end of the first period
	due     atomic.Int64 // time of the next update
	usual   atomic.Int64 // accepted calls in 1000 s, in the last period that taught something
	stripes []durationSum
	early   atomic.Int64 // open calls that began before anything was learned

	mu      sync.Mutex
	sum     time.Duration // of the period, without those in stripes
	calls   uint64
	began   time.Duration // the period
	before  window.Counts // totals then
	means   [numPeriods]time.Duration
	periods int // all periods that means has had
}

// durationSum sums the durations of the accepted calls of a stripe. It fills a cache line.
type durationSum struct {
	sum   atomic.Int64
	calls atomic.Uint64
	_     [48]byte
}

// newLearner returns a learner that begins at now, when the totals of calls are before.
func newLearner(now time.Duration, before window.Counts, stripes int) *learner {
	l := &learner{stripes: make([]durationSum, stripes), began: now, before: before}
	length, _ := l.period()
	l.due.Store(int64(now + length))
	return l
}

// teach lets the learner learn from the call, which had no answer for d, until now.
func (a *attempt) teach(now, d time.Duration, accepted bool) {
	w, t := a.watch, a.throttle
	if latest := t.watch.Load(); latest != nil && latest.gate == w.gate {
		w = latest // it may have learned again
	}
	isLate := w.slow > 0 && d > w.slow
	switch {
	case accepted:
		w.learner.stripes[a.stripe].add(d, time.Duration(w.learner.learned.Load()))
		if isLate {
			w.gate.trend.add(now, d, w.slow, w.learner.usualRate(), func() census {
				return census{now, t.allAccepted(), w.openCalls()}
			})
		}
	case isLate:
		w.gate.failed.Add(1)
	}
	if w.learner.isDue(now) && w.learner.update(now, t.totals()) {
		t.relearn(w)
	}
}

// add adds a call that took d, or most if that is less, but not 0.
func (s *durationSum) add(d, most time.Duration) {
	if most > 0 {
		d = min(d, most)
	}
	s.sum.Add(int64(d))
	s.calls.Add(1)
}

// isDue reports whether the period may end at now.
func (l *learner) isDue(now time.Duration) bool { return int64(now) >= l.due.Load() }

// update ends the period, and reports whether it taught something. Totals are those of all calls. It does
// nothing if another goroutine does it.
func (l *learner) update(now time.Duration, totals window.Counts) (learns bool) {
	if !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	if !l.isDue(now) {
		return false
	}
	length, least := l.period()
	l.due.Store(int64(now + length))
	shed, requests := totals.Shed-l.before.Shed, totals.Requests()-l.before.Requests()
	l.collect()
	switch {
	case float64(shed) > mostShedToLearn*float64(requests):
	case l.calls < least:
		return false // the period goes on
	default:
		l.learn(l.sum / time.Duration(l.calls))
		l.usual.Store(int64(1000 * float64(l.calls) / (now - l.began).Seconds()))
		learns = true
	}
	l.began, l.before, l.sum, l.calls = now, totals, 0, 0
	return learns
}

// period returns the length of a period, and the calls that it needs.
func (l *learner) period() (length time.Duration, calls uint64) {
	switch l.periods {
	case 0:
		return learningPeriod / 100, leastLearnedFrom / 5
	case 1:
		return learningPeriod / 10, leastLearnedFrom
	}
	return learningPeriod, leastLearnedFrom
}

// usualRate returns the accepted calls per second of the last period that taught something.
func (l *learner) usualRate() float64 { return float64(l.usual.Load()) / 1000 }

// collect moves the sums of the stripes to the sum of the period.
func (l *learner) collect() {
	for i := range l.stripes {
		l.sum += time.Duration(l.stripes[i].sum.Swap(0))
		l.calls += l.stripes[i].calls.Swap(0)
	}
}

// learn adds the mean of a period.
func (l *learner) learn(mean time.Duration) {
	l.means[l.periods%numPeriods] = mean
	l.periods++
	all := l.means
	sorted := all[:min(l.periods, numPeriods)]
	slices.Sort(sorted)
	median := sorted[(len(sorted)-1)/2]
	l.learned.Store(int64(min(max(learnedRatio*median, shortestLearned), longestSlow)))
}
