package processor

import "math"

const (
	// paceMemory is how long busy time counts, in seconds.
	paceMemory = 0.5
	// Before anything is known, a turn takes a millisecond, as if eight had been seen.
	firstTurns = 8
	firstTurn  = 0.001
	// The scheduler ends a turn after 10 ms. A process that shares its processors, or has a quota, does
	// not run all the time.
	longestTurn = 0.05
)

// pace measures how long a goroutine has a processor before the next one gets it. It looks at times
// without an idle processor only.
type pace struct {
	busy    float64 // seconds of processors; older ones fade
	turns   float64
	wasBusy bool
}

func (p *pace) add(r *Reading) {
	dt, busy := r.Elapsed.Seconds(), r.Runnable > 0
	if busy && p.wasBusy {
		fade := math.Exp(-dt / paceMemory)
		p.busy = p.busy*fade + dt*float64(r.Processors)
		p.turns = p.turns*fade + r.Turns
	}
	p.wasBusy = busy
}

// turn returns the mean time of a turn, in seconds.
func (p *pace) turn() float64 {
	return min((p.busy+firstTurns*firstTurn)/(p.turns+firstTurns), longestTurn)
}
