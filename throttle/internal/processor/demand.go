package processor

import (
	"sync/atomic"
	"time"
)

const (
	// Stripes is the number of parts of the counters. A processor usually counts on its own.
	Stripes = 16
	// Open calls are counted by the time at which they were admitted: this many times of this length.
	cohorts      = 16
	cohortLength = 250 * time.Millisecond
	// callsPerLook is how many calls of a stripe and priority look at the clock once: a timer may be
	// late in an overload.
	callsPerLook = 16
)

// Demand counts the calls of all throttles with the same setting. All methods are safe for concurrent
// use.
type Demand struct {
	process *Process
	aim     time.Duration
	shadow  bool // calls of ModeShadow: nothing is shed
	stripes [Stripes]stripe
}

// stripe fills two cache lines, because processors fetch pairs.
type stripe struct {
	calls [MaxPriorities]atomic.Uint32
	open  [cohorts]atomic.Int32
}

// Call is an admitted call: the number of its cohort.
type Call uint32

// Enter counts a call of a priority, and returns the probability with which it is to be shed. A
// goroutine should use the same stripe for Enter, Begin and End.
func (d *Demand) Enter(stripe, priority int) float64 {
	n := d.stripes[stripe%Stripes].calls[priority].Add(1)
	if n%callsPerLook == 0 || !d.process.running.Load() {
		d.process.wake()
	}
	return d.process.dropOf(priority)
}

// Begin counts an admitted call as open.
func (d *Demand) Begin(stripe int) Call {
	c := Call(d.process.cohort.Load())
	d.stripes[stripe%Stripes].open[c%cohorts].Add(1)
	return c
}

// End counts the end of a call. A call that was open for long is not counted any more.
func (d *Demand) End(stripe int, c Call) {
	if d.process.cohort.Load()-uint32(c) < cohorts-1 {
		d.stripes[stripe%Stripes].open[c%cohorts].Add(-1)
	}
}

// calls returns the number of calls by priority. Each number wraps around.
func (d *Demand) calls() (sum [MaxPriorities]uint32) {
	for i := range d.stripes {
		for p := range sum {
			sum[p] += d.stripes[i].calls[p].Load()
		}
	}
	return sum
}

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

// Shadow reports whether the calls are those of ModeShadow.
func (d *Demand) Shadow() bool { return d.shadow }
