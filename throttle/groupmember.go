package throttle

import (
	"sync/atomic"
	"time"
)

// cacheLines is the size of two cache lines, because processors fetch pairs of them.
const cacheLines = 128

// A member is a throttle of a group.
type member struct {
	key      string
	throttle *Throttle
	next     atomic.Pointer[member] // in its bucket of the table
	recorded time.Duration          // its place in the queue: the last use, or an earlier one
	used     useTimes
}

// use marks the member as used on the stripe of the goroutine. Latest has the uses of all members:
// of two uses on one stripe the second is later, also while the clock does not move.
func (m *member) use(now time.Duration, latest *useTimes) {
	stripe := m.throttle.window.Pick() % groupStripes
	at := max(int64(now), latest[stripe].at.Load()+1)
	latest[stripe].at.Store(at)
	m.used[stripe].at.Store(at)
}

// useTimes has the time of the last use on each stripe. Goroutines on different stripes write to
// different cache lines, and to none that has other data.
type useTimes [groupStripes]struct {
	_  [cacheLines - 8]byte
	at atomic.Int64
}

// last returns the time of the last use.
func (u *useTimes) last() time.Duration {
	var last int64
	for i := range u {
		last = max(last, u[i].at.Load())
	}
	return time.Duration(last)
}
