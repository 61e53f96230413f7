package main

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/examples/internal/program"
)

// How a table behaves.
const (
	shortestWrite  = 3 * time.Millisecond
	longestWrite   = 7 * time.Millisecond
	creditFor      = 50 * time.Millisecond // how long a table saves up what nobody uses,
	leastCredit    = 20                    // but at least so many units
	partWithAdvice = 0.1                   // of the throttled calls, which are told when to come again
	busy           = 0.7                   // of the capacity, which makes a table larger if it lasts
)

// table is what the workers write to. It has a capacity of so many units a second, of which each item takes one. What nobody uses it saves up for a
// while. What is more is throttled. If it is used well for long enough, somebody doubles its capacity: once.
type table struct {
	mu       sync.Mutex
	dice     *rand.Rand
	capacity float64 // units per second; infinite if it bears anything
	credit   float64
	at       time.Time // of credit
	sum      counts

	sustained time.Duration // how long a table is used well before it grows; 0 for one that does not
	watched   time.Time     // since when it is watched
	used      int           // since then
	grown     chan struct{} // is closed when it has
}

// newTable returns a table that has saved up all that it may.
func newTable(capacity int, sustained time.Duration, seed uint64) *table {
	now := time.Now()
	return &table{
		dice: rand.New(rand.NewPCG(seed, 0)), capacity: float64(capacity), credit: mostCredit(float64(capacity)), at: now,
		sustained: sustained, watched: now, grown: make(chan struct{}),
	}
}

// mostCredit is what a table of some capacity saves up.
func mostCredit(capacity float64) float64 { return max(leastCredit, capacity*creditFor.Seconds()) }

// errExceeded returns what somebody is told who comes too often: an error as faults has it, as [backoff.Classify] knows it.
func errExceeded() error {
	return faults.ResourceExhausted(&faults.QuotaViolation{Subject: "table orders", Description: "the provisioned throughput is exceeded"})
}

// write writes an item, or is throttled. Either takes a while.
func (t *table) write(ctx context.Context) error {
	takes, err := t.serve(time.Now())
	if !program.Rest(ctx, takes) {
		return context.Cause(ctx)
	}
	return err
}

// serve takes a unit, if there is one.
func (t *table) serve(now time.Time) (takes time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(now)
	takes = shortestWrite + time.Duration(t.dice.Int64N(int64(longestWrite-shortestWrite)))
	if t.credit < 1 {
		t.sum.throttled++
		if t.dice.Float64() < partWithAdvice {
			return takes, faults.WithUnavailable(errExceeded(), t.untilUnit())
		}
		return takes, errExceeded()
	}
	t.credit--
	t.sum.written++
	t.used++
	return takes, nil
}

// settle adds the units of the time that has gone by, and makes the table larger if it is time.
func (t *table) settle(now time.Time) {
	t.refill(now)
	if t.sustained <= 0 || now.Sub(t.watched) < t.sustained {
		return
	}
	if float64(t.used) >= busy*t.capacity*now.Sub(t.watched).Seconds() {
		t.capacity *= 2
		t.sustained = 0
		close(t.grown)
	}
	t.watched, t.used = now, 0
}

func (t *table) refill(now time.Time) {
	units := t.capacity * max(0, now.Sub(t.at).Seconds())
	if now.After(t.at) {
		t.at = now
	}
	if math.IsNaN(units) { // anything, for no time
		units = 0
	}
	t.sum.offered += units
	t.credit = min(t.credit+units, mostCredit(t.capacity))
}

// untilUnit is when there is a unit again, if nobody else takes it.
func (t *table) untilUnit() time.Duration {
	return time.Duration((1 - t.credit) / t.capacity * float64(time.Second))
}

// provision gives the table another capacity, and ends its growth.
func (t *table) provision(capacity float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(time.Now())
	t.capacity = capacity
	t.sustained = 0
	t.credit = min(t.credit, mostCredit(capacity))
	if math.IsInf(capacity, 1) {
		t.credit = capacity
	}
}

// reorder makes the table what it was at first: it grows once more if it is used well for long enough.
func (t *table) reorder(capacity float64, sustained time.Duration) {
	t.provision(capacity)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sustained, t.watched, t.used = sustained, time.Now(), 0
	t.sum.offered = 0 // which may have been anything
	t.grown = make(chan struct{})
}

// mark returns what there was up to now, what is saved up included.
func (t *table) mark() mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.settle(now)
	return mark{at: now, counts: t.sum, credit: t.credit}
}
