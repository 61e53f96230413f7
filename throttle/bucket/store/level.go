package store

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
)

// Level is the state of one bucket, which a store keeps. The zero Level is a full bucket.
type Level struct {
	// At is a time in nanoseconds since 1970, by the store's clock. A Continuous bucket is full at
	// At. The period of a Fixed bucket began at At.
	At int64
	// Used is the number of tokens that a Fixed bucket has granted in that period. A negative Used
	// counts as 0.
	Used int64
}

// Take takes at least atLeast and at most atMost tokens, or none, at a time in nanoseconds since
// 1970. It returns the new level and the decision. The limit must be valid, and atLeast must be at
// most its capacity.
//
// A clock that steps back adds no tokens. If the level is further in the future than an empty
// bucket's, it counts as empty, and the first denial stores it as empty. That happens if the clock
// was ahead, or if the limit was slower before.
func (v Level) Take(l Limit, now, atLeast, atMost int64) (Level, Decision) {
	rate := l.rate()
	d := Decision{Limit: l.Capacity}
	var retry, reset int64
	d.Allowed, d.Granted, d.Remaining, retry, reset = rate.Take((*refill.State)(&v), now, atLeast, atMost)
	d.RetryAfter, d.ResetAfter = time.Duration(retry), time.Duration(reset)
	return v, d
}

// Return gives back n tokens that were not used. A bucket never holds more than its capacity.
func (v Level) Return(l Limit, now, n int64) Level {
	rate := l.rate()
	rate.Return((*refill.State)(&v), now, n)
	return v
}

// Full reports whether the bucket is full. A store may then delete the level.
func (v Level) Full(l Limit, now int64) bool {
	rate := l.rate()
	return rate.Full((*refill.State)(&v), now)
}

// rate returns the rate of a valid limit.
func (l Limit) rate() refill.Rate {
	l = l.WithDefaults()
	return refill.New(l.Capacity, int64(l.Interval()), int64(l.Period), l.Algorithm == Fixed)
}
