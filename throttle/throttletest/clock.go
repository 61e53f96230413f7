package throttletest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until it is advanced: its Now is a Config.Now. It moves no timers. The zero Clock is ready for
// use; all methods are safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start.Round(0)} // by the wall: no other clock may speak in it
}

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on by d, or back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
