// Package refill computes how token buckets are used and refilled. It has no clock and no state of
// its own. All times are nanoseconds since 1970.
package refill

import (
	"math"
	"time"
)

// Bounds of the period of a Limit.
const (
	MinPeriod = time.Microsecond
	MaxPeriod = 366 * 24 * time.Hour
)

// ExplicitZero is an invalid value for a field of a Limit in which 0 means the default. A function
// whose argument is 0 sets it, so that Validate reports the argument.
const ExplicitZero = math.MinInt64

// maxOwed limits how far in the future a bucket is full: no sum of times overflows.
const maxOwed = 1 << 61

// Rate is how a bucket is refilled.
type Rate struct {
	capacity int64
	interval int64 // continuous: nanoseconds per token
	burst    int64 // continuous: nanoseconds from empty to full
	period   int64 // fixed
}

// New returns the rate of a valid limit. Interval is the time per token of a continuous bucket.
func New(capacity, interval, period int64, fixed bool) Rate {
	if fixed {
		return Rate{capacity: capacity, period: period}
	}
	return Rate{capacity: capacity, interval: interval, burst: capacity * interval}
}

// Interval returns the time per token of a continuous bucket.
func (r *Rate) Interval() int64 { return r.interval }

// Capacity returns the most tokens that a bucket holds.
func (r *Rate) Capacity() int64 { return r.capacity }

// Take takes at least atLeast and at most atMost tokens, or none, and updates the state. AtLeast
// must be at most the capacity. Results are scalars because Go returns them in registers: a struct
// of this size is copied at each return, which takes longer than the arithmetic.
//
// If nothing is granted, the state changes in two cases only: if this rate has no entry yet, or if
// the clock has stepped back.
func (r *Rate) Take(s *State, now, atLeast, atMost int64) (allowed bool, granted, remaining, retryAfter, resetAfter int64) {
	mine := *s
	if !mine.rated() {
		mine.Interval, mine.Period, mine.Capacity = r.interval, r.period, r.capacity
	}
	changed := mine.update(now)
	changed = mine.Other.update(now) || changed
	added := mine.arrange(r, now)
	if r.period > 0 {
		granted, remaining, retryAfter, resetAfter = r.takeFixed(&mine.Entry, now, atLeast, atMost)
	} else {
		granted, remaining, retryAfter, resetAfter = r.TakeContinuous(&mine.At, now, atLeast, atMost)
	}
	if granted > 0 {
		mine.Other.charge(now, granted)
	}
	if granted > 0 || (changed || added) && atMost > 0 {
		*s = mine
	}
	return granted >= atLeast, granted, remaining, retryAfter, resetAfter
}

// TakeContinuous is Take of a continuous bucket whose state has this rate. At is when the bucket
// will be full. It changes only if tokens are granted.
func (r *Rate) TakeContinuous(at *int64, now, atLeast, atMost int64) (granted, remaining, retryAfter, resetAfter int64) {
	owed := max(0, *at-now) // more than the burst if the clock has stepped back
	free := r.burst - owed
	available := max(0, free) / r.interval
	granted = min(atMost, available)
	switch {
	case granted < atLeast:
		return 0, available, atLeast*r.interval - free, owed
	case granted < atMost:
		retryAfter = (available+1)*r.interval - free
	}
	if granted > 0 {
		owed += granted * r.interval
		*at = now + owed
	}
	return granted, available - granted, retryAfter, owed
}

// takeFixed is Take of a fixed bucket whose entry has this rate and is of the current period.
func (r *Rate) takeFixed(s *Entry, now, atLeast, atMost int64) (granted, remaining, retryAfter, resetAfter int64) {
	available := max(0, r.capacity-s.Used)
	granted = min(atMost, available)
	if granted < atLeast {
		return 0, available, s.At - now + r.untilHas(s.Used, atLeast), s.FullAt() - now
	}
	if s.Used += granted; granted < atMost {
		retryAfter = s.At - now + r.untilHas(s.Used, 1)
	}
	return granted, available - granted, retryAfter, max(0, s.FullAt()-now)
}

// untilHas returns the time from the start of a period to the start of the one in which a fixed bucket
// has n tokens. Each period takes back a capacity of what is used.
func (r *Rate) untilHas(used, n int64) int64 {
	if used <= r.capacity {
		return r.period
	}
	return product(1+(used-r.capacity+n-1)/r.capacity, r.period)
}

// product returns a product, or maxOwed if it is more.
func product(a, b int64) int64 {
	if a > maxOwed/b {
		return maxOwed
	}
	return a * b
}
