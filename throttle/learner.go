package throttle

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The constants of the rule of Config.SlowAuto.
const (
	// A period has at least this length and this number of accepted calls.
	learningPeriod   = 10 * time.Second
	leastLearnedFrom = 50
	// A period in which more than this share of the calls was shed teaches nothing.
	mostShedToLearn = 0.01
	// The learned Slow is this factor times the median of the 99th percentiles of numPeriods periods.
	learnedRatio    = 1.75
	numPeriods      = 30
	shortestLearned = 5 * time.Millisecond
)

// learner computes a good value of Config.Slow from the durations of accepted calls. Nothing acts on it.
type learner struct {
	learned atomic.Int64 // a time.Duration, or 0 before the end of the first period
	due     atomic.Int64 // time of the next update
	stripes []durationCounts

	mu          sync.Mutex
	counts      [numDurations]uint64 // of the period, without those in stripes
	before      window.Counts        // totals at the begin of the period
	percentiles [numPeriods]time.Duration
	periods     int // all periods that percentiles has had
}

// newLearner returns a learner that begins at now, when the totals of calls are before.
func newLearner(now time.Duration, before window.Counts, stripes int) *learner {
	l := &learner{stripes: make([]durationCounts, stripes), before: before}
	l.due.Store(int64(now + learningPeriod))
	return l
}

// teach lets the learner learn from the call, which had no answer for d, until now. A call that had none
// for longer than the learned Slow would have been late.
func (a *attempt) teach(l *learner, now, d time.Duration, accepted bool) {
	if l.isDue(now) {
		l.update(now, a.throttle.totals())
	}
	if accepted {
		l.stripes[a.stripe].add(d)
	}
	if t := time.Duration(l.learned.Load()); t > 0 && d > t {
		a.watch.totals.wouldBeLate[a.priority].Add(1)
	}
}

// isDue reports whether the period may end at now.
func (l *learner) isDue(now time.Duration) bool { return int64(now) >= l.due.Load() }

// update ends the period. Totals are those of all calls. It does nothing if another goroutine does it.
func (l *learner) update(now time.Duration, totals window.Counts) {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	if !l.isDue(now) {
		return
	}
	l.due.Store(int64(now + learningPeriod))
	shed, requests := totals.Shed-l.before.Shed, totals.Requests()-l.before.Requests()
	calls := l.collect()
	switch {
	case float64(shed) > mostShedToLearn*float64(requests):
	case calls < leastLearnedFrom:
		return // the period goes on
	default:
		l.learn(quantile(&l.counts, calls))
	}
	l.before = totals
	clear(l.counts[:])
}

// collect moves the counts of the stripes to counts, and returns their sum.
func (l *learner) collect() (calls uint64) {
	for i := range l.counts {
		for s := range l.stripes {
			if cell := &l.stripes[s][i]; cell.Load() > 0 {
				l.counts[i] += uint64(cell.Swap(0))
			}
		}
		calls += l.counts[i]
	}
	return calls
}

// learn adds the 99th percentile of a period.
func (l *learner) learn(percentile time.Duration) {
	l.percentiles[l.periods%numPeriods] = percentile
	l.periods++
	all := l.percentiles
	sorted := all[:min(l.periods, numPeriods)]
	slices.Sort(sorted)
	median := float64(sorted[len(sorted)/2])
	l.learned.Store(int64(min(max(time.Duration(learnedRatio*median), shortestLearned), longestSlow)))
}

// numDurations is the number of ranges of durations: eight for each power of two. The first one begins
// at 0 and ends at 74 µs, the last one has everything from 4.6 h on.
const numDurations = 28 * 8

// durationCounts counts the accepted calls of a stripe by duration. It fills cache lines.
type durationCounts [numDurations]atomic.Uint32

func (c *durationCounts) add(d time.Duration) { c[rangeOf(d)].Add(1) }

// rangeOf returns the number of the range that holds d.
func rangeOf(d time.Duration) int {
	x := uint64(max(d, 1<<16))
	n := bits.Len64(x)
	return min(8*(n-17)+int(x>>(n-4)&7), numDurations-1)
}

// endOf returns the end of a range.
func endOf(i int) time.Duration { return time.Duration(i%8+9) << (i/8 + 13) }

// quantile returns the 99th percentile of calls, rounded up to the end of its range.
func quantile(counts *[numDurations]uint64, calls uint64) time.Duration {
	var sum uint64
	for i, n := range counts {
		if sum += n; 100*sum >= 99*calls {
			return endOf(i)
		}
	}
	return endOf(numDurations - 1)
}
