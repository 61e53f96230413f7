package bucket

import (
	"math"
	"time"
)

// waiter is somebody who waits.
type waiter struct {
	n        int64
	deadline time.Time
	hurried  bool         // there is a deadline
	served   chan service // has room for one
	left     bool         // nobody waits for it any more
}

// service is what becomes of a waiter.
type service struct {
	source Source
	err    error
}

// addTo adds what somebody wants to what those before him do, if he has not left.
func (w *waiter) addTo(ahead int64) int64 {
	if w.left {
		return ahead
	}
	return addUp(ahead, w.n)
}

// addUp adds what is not negative, up to the largest number there is.
func addUp(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
