package retry

import (
	"sync/atomic"
	"time"
)

const (
	// slotsPerWindow is the number of parts of Budget.Window. Attempts leave the window one part at
	// a time.
	slotsPerWindow = 10
	// marksPerWindow is the number of totals to keep: a window is its slots and the open one.
	marksPerWindow = slotsPerWindow + 1

	rounding = 1e-9 // a reserve of one retry per window may be a little less
)

// mark is the totals of accepted first attempts and of retries at one time.
type mark struct {
	at                time.Duration
	accepted, retries uint64
}

// history holds the totals at the beginning of the last slots. It is never changed.
type history struct {
	slot  int64                // the number of the open slot
	marks [marksPerWindow]mark // by slot number modulo their number
	last  mark                 // when this history was made
}

// ledger decides whether a retry fits into the budget. It takes no lock. Accepted attempts are
// counted elsewhere, because they are far more frequent than retries.
type ledger struct {
	seconds float64 // of a window
	width   time.Duration
	past    atomic.Pointer[history]
	retries atomic.Uint64 // granted since the beginning
}

func newLedger(window time.Duration) *ledger {
	l := &ledger{seconds: window.Seconds(), width: window / slotsPerWindow}
	l.past.Store(&history{})
	return l
}

// take takes a retry from the budget if there is one. Accepted is the number of first attempts that
// were accepted since the beginning.
func (l *ledger) take(now time.Duration, accepted uint64, u *Tuning) bool {
	oldest := l.roll(now, accepted)
	for {
		retries := l.retries.Load()
		if l.limit(oldest, accepted, u)-float64(retries-oldest.retries) < 1-rounding {
			return false
		}
		if l.retries.CompareAndSwap(retries, retries+1) {
			return true
		}
	}
}

func (l *ledger) level(now time.Duration, accepted uint64, u *Tuning) (left, limit float64) {
	oldest := l.roll(now, accepted)
	limit = l.limit(oldest, accepted, u)
	return max(0, limit-float64(l.retries.Load()-oldest.retries)), limit
}

func (l *ledger) limit(oldest mark, accepted uint64, u *Tuning) float64 {
	reserve := max(0, u.Reserve) * l.seconds
	if accepted < oldest.accepted { // a concurrent call has a newer total
		return reserve
	}
	return u.Share*float64(accepted-oldest.accepted) + reserve
}

// roll begins the slot of now, if it is not open yet, and returns the totals at the beginning of the
// window. If another goroutine begins it first, the window of that one is used.
func (l *ledger) roll(now time.Duration, accepted uint64) mark {
	slot := int64(now / l.width)
	past := l.past.Load()
	if slot > past.slot || slot < past.slot-marksPerWindow {
		next := past.until(slot, l.width, mark{at: now, accepted: accepted, retries: l.retries.Load()})
		if l.past.CompareAndSwap(past, next) {
			past = next
		} else {
			past = l.past.Load()
		}
	}
	return past.marks[indexOf(past.slot+1)] // the oldest: it is replaced next
}

// until returns the history after the slots up to slot have begun. Now has the present totals.
// Between the last history and now, no retry was granted, and the times of accepted attempts are
// not known: they are taken as even. If the clock was set back by more than a window, the window begins empty.
func (h *history) until(slot int64, width time.Duration, now mark) *history {
	now.accepted = max(now.accepted, h.last.accepted) // a concurrent call may have a newer total
	next := &history{slot: slot, marks: h.marks, last: now}
	if slot < h.slot {
		for i := range next.marks {
			next.marks[i] = now
		}
	}
	for s := max(h.slot, slot-marksPerWindow) + 1; s <= slot; s++ {
		at := time.Duration(s) * width
		share := float64(at-h.last.at) / float64(now.at-h.last.at)
		next.marks[indexOf(s)] = mark{
			at: at, retries: now.retries,
			accepted: h.last.accepted + uint64(share*float64(now.accepted-h.last.accepted)),
		}
	}
	return next
}

// indexOf returns the index of the mark of a slot. Slots before New are negative: clocks come from users.
func indexOf(slot int64) int64 { return (slot%marksPerWindow + marksPerWindow) % marksPerWindow }
