package backoff

import (
	"container/list"
	"time"
)

// catchUp is how far the line may lag behind its gaps and still make it good: timers wake late.
const catchUp = 10 * time.Millisecond

// line is who waits for his turn, the first to come first, and when that is. Only the first has a timer; the lock of Responsive guards it.
type line struct {
	queue list.List // of *place
	last  time.Time // when the last turn was due
	gap   time.Duration
}

// place is somebody's place in the line.
type place struct {
	look chan struct{} // has room for one: look again, for you are the first, or the delay has changed
}

func (l *line) empty() bool { return l.queue.Len() == 0 }

// due is when the next turn is.
func (l *line) due(floor time.Time) time.Time {
	due := l.last.Add(l.gap)
	if floor.After(due) {
		return floor
	}
	return due
}

// taken notes that a turn was taken that was due at some time, and what the gap to the next is. Whoever has waited for it may have been woken
// late, which is made good; whoever has just come has not.
func (l *line) taken(due, now time.Time, waited bool, gap time.Duration) {
	earliest := now
	if waited {
		earliest = now.Add(-max(0, catchUp-gap))
	}
	if due.Before(earliest) {
		due = earliest
	}
	l.last, l.gap = due, gap
}

// join takes a place at the end.
func (l *line) join() *list.Element {
	return l.queue.PushBack(&place{look: make(chan struct{}, 1)})
}

// leave gives a place up, and lets the next come up if it was the first.
func (l *line) leave(e *list.Element) {
	first := l.queue.Front() == e
	l.queue.Remove(e)
	if first {
		l.wakeFirst()
	}
}

// wakeFirst lets the first look again.
func (l *line) wakeFirst() {
	if e := l.queue.Front(); e != nil {
		select {
		case e.Value.(*place).look <- struct{}{}:
		default:
		}
	}
}
