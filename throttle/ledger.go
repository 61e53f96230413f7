package throttle

import (
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The columns of a tier's counters. Every number that Stats gives is a counter of its own, or a sum of counters: a
// difference of two could fall while a call is between them, and what falls looks like a restart to whoever watches.
const (
	served     = window.Accepted     // by the backend, without an error
	failed     = window.Accepted + 1 // accepted by the backend, with an error
	turnedDown = window.Rejected     // by the backend
	shedOwn    = window.Shed         // by us, cause Own
	shedAbove  = window.Shed + 1     // by us, cause Above
	shadowed   = window.Shed + 2     // let through by Shadow
	started    = window.Free         // admitted, Shadow's included
	clamped    = window.Free + 1     // asked for a priority out of range
)

// page names a set of totals that most throttles never need. It is made when it first is.
type page uint8

const (
	failures     page = iota // admitted calls that did not end well
	shadowsOwn               // calls that Shadow let through, by how they ended; cause Own
	shadowsAbove             // the same, cause Above
	fallbacks                // fallbacks, by the call's outcome and the fallback's own fault
	numPages
)

// tally counts calls of one priority by outcome and fault.
type tally [NumOutcomes][NumFaults]atomic.Uint64

// overtime counts calls of one priority whose outcome was known before their end.
type overtime struct{ begun, ended atomic.Uint64 }

// ledger holds the totals by outcome and fault of one stripe, and the calls that went on beyond theirs.
type ledger struct {
	pages   [numPages]atomic.Pointer[[]tally]
	overrun atomic.Pointer[[]overtime]
	_       [128 - (numPages+1)*8]byte
}

// count adds one call to a page.
func (l *ledger) count(which page, priorities int, p Priority, o Outcome, f Fault) {
	tallies := l.pages[which].Load()
	if tallies == nil {
		tallies = l.open(which, priorities)
	}
	(*tallies)[p][o][f].Add(1)
}

// open makes a page. Of two who make it at once, one keeps the other's.
func (l *ledger) open(which page, priorities int) *[]tally {
	fresh := make([]tally, priorities)
	if l.pages[which].CompareAndSwap(nil, &fresh) {
		return &fresh
	}
	return l.pages[which].Load()
}

// overtime returns where calls of a priority are counted that go on beyond their outcome.
func (l *ledger) overtime(priorities int, p Priority) *overtime {
	if l.overrun.Load() == nil {
		fresh := make([]overtime, priorities)
		l.overrun.CompareAndSwap(nil, &fresh) // or somebody was faster
	}
	return &(*l.overrun.Load())[p]
}

// overrunning returns how many calls of a priority have begun to go on beyond their outcome, and how many of these have ended.
func (l *ledger) overrunning(p Priority) (begun, ended uint64) {
	all := l.overrun.Load()
	if all == nil {
		return 0, 0
	}
	ended = (*all)[p].ended.Load() // first, so that none seems to end that has not begun
	return (*all)[p].begun.Load(), ended
}

// addTo adds what a page holds of priority p to totals.
func (l *ledger) addTo(totals *Totals, which page, p Priority) {
	tallies := l.pages[which].Load()
	if tallies == nil {
		return
	}
	for o := range totals.calls {
		for f := range totals.calls[o] {
			totals.calls[o][f] += (*tallies)[p][o][f].Load()
		}
	}
}
