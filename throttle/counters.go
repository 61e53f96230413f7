package throttle

import (
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The columns of the counters of one priority. Every total in Stats is one counter or a sum of
// counters. A difference of two counters could decrease while a call is between them, and a counter
// that decreases looks like a restart to a monitoring system.
const (
	served     = window.Accepted     // accepted by the backend, nil error
	failed     = window.Accepted + 1 // accepted by the backend, with an error
	turnedDown = window.Rejected     // rejected by the backend, which did not say why
	saidFull   = window.Full         // rejected by a backend that is full: see MarkOverloaded; booked as late, or refused by the gate
	shedOwn    = window.Shed         // shed, CauseOwn
	shedAbove  = window.Shed + 1     // shed, CauseAbove
	shadowed   = window.Shed + 2     // let through in ModeShadow
	started    = window.Free         // admitted, those of ModeShadow included
)

// table selects a set of totals that most throttles never need. It is allocated at its first use.
type table uint8

const (
	failures    table                         = iota // admitted calls with an error or another outcome than Accepted
	shadows                                          // calls that ModeShadow let through, by outcome: a table for each cause
	clamps      = iota + table(numCauses) - 1        // calls that asked for a priority out of range; all in the first column
	localSheds                                       // calls shed, CauseProcessor; without an outcome, so all are in the first column
	toldSheds                                        // the same, CauseTold
	tenantSheds                                      // the same, of tenants that take more than their share; with any cause
	fallbacks                                        // fallbacks, by the call's outcome and the fallback's own fault
	numTables
)

// outcomeCounts counts calls of one priority by outcome and fault. It fills cache lines of eight
// counters, so that stripes share none.
type outcomeCounts [numOutcomes][(numFaults + 7) / 8 * 8]atomic.Uint64

// answeredCounts counts calls of one priority whose outcome was recorded before their end. It fills
// a cache line.
type answeredCounts struct {
	begun, ended atomic.Uint64
	_            [48]byte
}

// outcomeCounters holds the totals by outcome and fault of one stripe.
type outcomeCounters struct {
	tables   [numTables]atomic.Pointer[[]outcomeCounts]
	inFlight atomic.Pointer[[]answeredCounts]
	_        [128 - (numTables+1)*8]byte
}

func (c *outcomeCounters) count(which table, priorities int, p Priority, o Outcome, f Fault) {
	byPriority := c.tables[which].Load()
	if byPriority == nil {
		byPriority = c.alloc(which, priorities)
	}
	(*byPriority)[p][o][f].Add(1)
}

// alloc allocates a table. If two goroutines do so at once, both use the same one.
func (c *outcomeCounters) alloc(which table, priorities int) *[]outcomeCounts {
	fresh := make([]outcomeCounts, priorities)
	if c.tables[which].CompareAndSwap(nil, &fresh) {
		return &fresh
	}
	return c.tables[which].Load()
}

// answeredCalls returns the counters of calls that continue after their outcome was recorded.
func (c *outcomeCounters) answeredCalls(priorities int, p Priority) *answeredCounts {
	if c.inFlight.Load() == nil {
		fresh := make([]answeredCounts, priorities)
		c.inFlight.CompareAndSwap(nil, &fresh) // another goroutine may be first
	}
	return &(*c.inFlight.Load())[p]
}

// answered returns how many calls continued after their outcome was recorded, and how many of those
// have ended.
func (c *outcomeCounters) answered(p Priority) (begun, ended uint64) {
	all := c.inFlight.Load()
	if all == nil {
		return 0, 0
	}
	ended = (*all)[p].ended.Load() // before begun, so that ended <= begun
	return (*all)[p].begun.Load(), ended
}

// addTo adds the counts of priority p in a table to totals.
func (c *outcomeCounters) addTo(totals *Totals, which table, p Priority) {
	byPriority := c.tables[which].Load()
	if byPriority == nil {
		return
	}
	for o := range totals.calls {
		for f := range totals.calls[o] {
			totals.calls[o][f] += (*byPriority)[p][o][f].Load()
		}
	}
}

func (c *outcomeCounters) first(which table, p Priority) uint64 {
	var totals Totals
	c.addTo(&totals, which, p)
	return totals.Count(Accepted, FaultNone)
}
