package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

const (
	burst   = 0.05 // of work that a backend can save up, in seconds of its capacity
	overdue = 0.1  // of work on rejections that it can be behind with: beyond it a rejection costs nothing
	spacing = 0.2  // of the burst that an aware backend keeps back for each higher priority
)

// budget is a backend that serves a call at once or rejects it at once. It has work to spend, in served calls, which fills up
// with time. Rejections spend some too, and may overdraw it, but only so far that the backend is
// itself again soon after an overload that it could not even have rejected.
type budget struct {
	aware       bool
	cost        float64 // of a rejection
	rate        float64 // per second
	left        float64
	least, most float64
	filled      time.Duration
	reserves    Tiers // what must be left for a call to be served
}

// newBudget returns a full budget.
func newBudget(aware bool, cost, rate float64) *budget {
	b := &budget{aware: aware, cost: cost}
	b.retune(0, rate)
	b.left = b.most
	return b
}

// retune changes the capacity.
func (b *budget) retune(at time.Duration, rate float64) {
	b.fill(at)
	b.rate, b.most, b.least = rate, 0, -overdue*rate
	if rate > 0 {
		b.most = max(burst*rate, 2)
	}
	b.left = max(b.left, b.least)
	for p := range b.reserves {
		b.reserves[p] = 1
		if b.aware {
			b.reserves[p] += spacing * float64(p) * (b.most - 1)
		}
	}
}

// serve spends what a call costs, unless that would touch what is kept back.
func (b *budget) serve(at time.Duration, p throttle.Priority) bool {
	b.fill(at)
	if b.left < b.reserves[p] {
		return false
	}
	b.left--
	return true
}

// reject spends what a rejection costs, and returns how much that is.
func (b *budget) reject(at time.Duration) float64 {
	b.fill(at)
	before := b.left
	b.left = max(b.left-b.cost, b.least)
	return before - b.left
}

func (b *budget) fill(at time.Duration) {
	b.left = min(b.left+b.rate*(at-b.filled).Seconds(), b.most)
	b.filled = at
}
