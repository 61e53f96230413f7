package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	burst        = 0.05 // work that a backend can save up, in seconds of its capacity
	maxDebt      = 0.1  // work on rejections that a backend can owe, in seconds; more rejections cost nothing
	reserveShare = 0.2  // share of the burst that an aware backend reserves for each higher priority
)

// budget is a backend that serves or rejects a call at once. It has a budget of work, in served
// calls, which grows with time. A rejection costs work too, and the budget can become negative. The
// debt is limited, so that the backend recovers soon after an overload.
type budget struct {
	aware    bool
	cost     float64 // of a rejection
	rate     float64 // work per second
	left     float64
	min, max float64 // bounds of left
	filled   time.Duration
	required Tiers // the least that must be left to serve a call, by priority
}

func newBudget(aware bool, cost, rate float64) *budget {
	b := &budget{aware: aware, cost: cost}
	b.setRate(0, rate)
	b.left = b.max
	return b
}

func (b *budget) setRate(at time.Duration, rate float64) {
	b.fill(at)
	b.rate, b.max, b.min = rate, 0, -maxDebt*rate
	if rate > 0 {
		b.max = max(burst*rate, 2)
	}
	b.left = max(b.left, b.min)
	for p := range b.required {
		b.required[p] = 1
		if b.aware {
			b.required[p] += reserveShare * float64(p) * (b.max - 1)
		}
	}
}

// serve spends the work of a call. It returns false, and spends nothing, if too little is left for
// its priority.
func (b *budget) serve(at time.Duration, p throttle.Priority) bool {
	b.fill(at)
	if b.left < b.required[p] {
		return false
	}
	b.left--
	return true
}

// reject spends the work of a rejection, and returns how much it is.
func (b *budget) reject(at time.Duration) float64 {
	b.fill(at)
	before := b.left
	b.left = max(b.left-b.cost, b.min)
	return before - b.left
}

func (b *budget) fill(at time.Duration) {
	b.left = min(b.left+b.rate*(at-b.filled).Seconds(), b.max)
	b.filled = at
}
