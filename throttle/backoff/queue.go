package backoff

import (
	"container/list"
	"time"
)

// maxCatchUp limits how much of a late wake-up the next gap makes up for: timers fire late.
const maxCatchUp = 10 * time.Millisecond

// queue holds the calls that wait in mode Pace, in the order in which they came, and the time of
// the next turn. Only the first waiter has a timer. The lock of Responsive guards it.
type queue struct {
	waiters list.List // of chan struct{}: buffered; a value means: it is the first now, or the delay changed
	last    time.Time // when the last turn was due
	gap     time.Duration
}

func (q *queue) empty() bool { return q.waiters.Len() == 0 }

// next returns when the next turn is due: one gap after the last, but not before earliest.
func (q *queue) next(earliest time.Time) time.Time {
	next := q.last.Add(q.gap)
	if earliest.After(next) {
		return earliest
	}
	return next
}

// take records that a turn which was due at a time is taken now, and the gap to the next turn. If
// the call waited, it may have woken late, and the next gap makes up for that within maxCatchUp.
func (q *queue) take(due, now time.Time, waited bool, gap time.Duration) {
	earliest := now
	if waited {
		earliest = now.Add(-max(0, maxCatchUp-gap))
	}
	if due.Before(earliest) {
		due = earliest
	}
	q.last, q.gap = due, gap
}

// limit makes the next turn due after the longest delay at the latest, although turns were reserved.
func (q *queue) limit(now time.Time, longest time.Duration) {
	q.gap = min(q.gap, longest)
	if q.next(now).After(now.Add(longest)) {
		q.last = now
	}
}

func (q *queue) push() *list.Element {
	return q.waiters.PushBack(make(chan struct{}, 1))
}

// remove removes a waiter, if there is one. If it was the first, the next one wakes.
func (q *queue) remove(e *list.Element) {
	if e == nil {
		return
	}
	first := q.waiters.Front() == e
	q.waiters.Remove(e)
	if first {
		q.wakeFirst()
	}
}

// wakeFirst makes the first waiter compute its remaining wait again.
func (q *queue) wakeFirst() {
	if e := q.waiters.Front(); e != nil {
		select {
		case e.Value.(chan struct{}) <- struct{}{}:
		default:
		}
	}
}
