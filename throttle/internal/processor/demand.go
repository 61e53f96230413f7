package processor

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// Stripes is the number of parts of the counters. A processor usually counts on its own.
	Stripes = 16
	// Open calls are counted by the time at which they were admitted: this many times of this length.
	cohorts      = 16
	cohortLength = 250 * time.Millisecond
)

// Demand counts the calls of all throttles with the same setting. All methods are safe for concurrent
// use.
type Demand struct {
	process *Process
	aim     time.Duration
	shadow  bool        // calls of ModeShadow: nothing is shed
	called  atomic.Bool // since the last tick
	_       [100]byte
	stripes [Stripes]stripe

	// Of the last tick, guarded by the lock of process:
	seen, fresh [MaxPriorities]uint32 // calls, and those since the tick before
	calledAt    time.Duration         // of the last tick since which calls had come
}

// stripe fills two cache lines, because processors fetch pairs.
type stripe struct {
	calls [MaxPriorities]atomic.Uint32
	open  [cohorts]atomic.Int32
}

// Call is an admitted call: the number of its cohort, or 0 if it is not counted as open.
type Call uint32

// Calm reports whether a call need not Enter and Begin: no calls wait, and one has entered since the last
// tick. It is inlined.
func (d *Demand) Calm() bool { return d.process.state.Load() == calm && d.called.Load() }

// Enter returns the probability with which a call of a priority is to be shed. While calls wait, it counts
// the call. A goroutine should use the same stripe for Enter, Begin and End.
func (d *Demand) Enter(stripe, priority int) float64 {
	if !d.called.Load() {
		d.called.Store(true)
	}
	if d.process.state.Load() == calm {
		return 0
	}
	d.stripes[stripe%Stripes].calls[priority].Add(1)
	return d.process.look(priority)
}

// Begin counts an admitted call as open. A call that begins while no calls wait is not counted.
func (d *Demand) Begin(stripe int) Call {
	if d.process.state.Load() < crowded {
		return 0
	}
	c := Call(d.process.cohort.Load())
	d.stripes[stripe%Stripes].open[c%cohorts].Add(1)
	return c
}

// End counts the end of a call that was counted as open. One that was open for long is not counted any
// more.
func (d *Demand) End(stripe int, c Call) {
	if c != 0 && d.process.cohort.Load()-uint32(c) < cohorts-1 {
		d.stripes[stripe%Stripes].open[c%cohorts].Add(-1)
	}
}

// refresh reads the calls since the last tick, and reports whether any came.
func (d *Demand) refresh(at time.Duration) bool {
	var now [MaxPriorities]uint32 // each number wraps around
	for i := range d.stripes {
		for p := range now {
			now[p] += d.stripes[i].calls[p].Load()
		}
	}
	for p := range now {
		d.fresh[p] = now[p] - d.seen[p]
	}
	d.seen = now
	if !d.called.Load() {
		return false
	}
	d.called.Store(false)
	d.calledAt = at
	return true
}

// used reports whether calls come.
func (d *Demand) used(at time.Duration) bool { return at-d.calledAt <= idleTime }

// open returns the number of open calls that were admitted in the last cohorts.
func (d *Demand) open() (sum int) {
	for i := range d.stripes {
		for c := range d.stripes[i].open {
			sum += int(d.stripes[i].open[c].Load())
		}
	}
	return sum
}

// reuse empties the counters of a cohort.
func (d *Demand) reuse(cohort uint32) {
	for i := range d.stripes {
		d.stripes[i].open[cohort%cohorts].Store(0)
	}
}

// Overloaded reports whether calls wait for longer than the aim, or are shed for it.
func (d *Demand) Overloaded() bool { return d.process.state.Load() == overloaded }

// Share returns the share of the calls that is shed. It is more than 0 until the overload has ended.
func (d *Demand) Share() float64 { return math.Float64frombits(d.process.share.Load()) }

// Drop returns the probability with which a call of a priority is shed.
func (d *Demand) Drop(priority int) float64 {
	return math.Float64frombits(d.process.drops[priority].Load())
}

// Shadow reports whether the calls are those of ModeShadow.
func (d *Demand) Shadow() bool { return d.shadow }
