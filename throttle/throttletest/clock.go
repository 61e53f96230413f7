package throttletest

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a clock that moves only when Advance is called. Use its method Now as the Now of a
// Config. It starts no timers. The zero Clock is ready for use. All methods are safe for concurrent
// use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock whose time is start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start.Round(0)} // without the monotonic reading, which Add would keep
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward by d, or back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Always returns a Config.Rand that always returns r. A call is shed if r is less than its
// probability: with 0 every call is shed whose probability is above 0, and with 1 no call is shed.
func Always(r float64) func() float64 {
	return func() float64 { return r }
}

// Sequence returns a Config.Rand that returns the given numbers in order, and starts again after
// the last. Without numbers it returns 0. It is safe for concurrent use.
func Sequence(rs ...float64) func() float64 {
	if len(rs) == 0 {
		return Always(0)
	}
	rs = slices.Clone(rs)
	var drawn atomic.Uint64
	return func() float64 { return rs[(drawn.Add(1)-1)%uint64(len(rs))] }
}
