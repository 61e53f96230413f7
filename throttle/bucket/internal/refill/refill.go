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

// Rate is how a bucket is refilled.
type Rate struct {
	capacity int64
	interval int64 // continuous: nanoseconds per token
	burst    int64 // continuous: nanoseconds from empty to full
	period   int64
	fixed    bool
}

// New returns the rate of a valid limit. Interval is the time per token of a continuous bucket.
func New(capacity, interval, period int64, fixed bool) Rate {
	r := Rate{capacity: capacity, period: period, fixed: fixed}
	if !fixed {
		r.interval, r.burst = interval, capacity*interval
	}
	return r
}

// State is the state of one bucket. The zero State is a full bucket.
type State struct {
	At   int64 // continuous: when the bucket will be full; fixed: when its period began
	Used int64 // fixed: tokens granted in that period
}

// Ahead reports whether a continuous bucket that will be full at that time is further in the future
// than an empty one.
func (r *Rate) Ahead(at, now int64) bool { return at > now+r.burst }

// Take takes at least atLeast and at most atMost tokens, or none, and updates the state. AtLeast
// must be at most the capacity. Results are scalars because Go returns them in registers: a struct
// of this size is copied at each return, which takes longer than the arithmetic.
func (r *Rate) Take(s *State, now, atLeast, atMost int64) (allowed bool, granted, remaining, retryAfter, resetAfter int64) {
	if r.fixed {
		return r.takeFixed(s, now, atLeast, atMost)
	}
	return r.takeContinuous(s, now, atLeast, atMost)
}

func (r *Rate) takeContinuous(s *State, now, atLeast, atMost int64) (allowed bool, granted, remaining, retryAfter, resetAfter int64) {
	full := min(max(s.At, now), now+r.burst)
	free := now + r.burst - full
	available := free / r.interval
	granted = min(atMost, available)
	if granted < atLeast {
		if full < s.At { // stored, or the bucket stays empty for as long as the clock was ahead
			*s = State{At: full}
		}
		return false, 0, available, atLeast*r.interval - free, full - now
	}
	if granted > 0 {
		full += granted * r.interval
		*s = State{At: full}
	}
	if granted < atMost {
		retryAfter = r.interval - free%r.interval
	}
	return true, granted, available - granted, retryAfter, full - now
}

func (r *Rate) takeFixed(s *State, now, atLeast, atMost int64) (allowed bool, granted, remaining, retryAfter, resetAfter int64) {
	begin, used := now-now%r.period, int64(0)
	switch {
	case s.At > now+r.period: // the clock was far ahead: Used is unknown, so deny until the next period
		used = r.capacity
	case s.At >= begin:
		begin, used = s.At, max(0, s.Used)
	}
	available := max(0, r.capacity-used)
	reset := begin + r.period - now
	granted = min(atMost, available)
	if granted < atLeast {
		if s.At > now+r.period {
			*s = State{At: begin, Used: used}
		}
		return false, 0, available, reset, reset
	}
	if granted > 0 {
		*s = State{At: begin, Used: used + granted}
	}
	if used+granted > 0 {
		resetAfter = reset
	}
	if granted < atMost {
		retryAfter = reset
	}
	return true, granted, available - granted, retryAfter, resetAfter
}

// Return gives back n tokens. A bucket never holds more than its capacity.
func (r *Rate) Return(s *State, now, n int64) {
	n = max(0, n)
	if r.fixed {
		if s.Used > 0 && s.At >= now-now%r.period {
			s.Used = max(0, s.Used-n)
		}
		return
	}
	*s = State{At: max(now, s.At-min(n, r.capacity)*r.interval)}
}

// Full reports whether the bucket is full.
func (r *Rate) Full(s *State, now int64) bool {
	if r.fixed {
		return s.Used <= 0 || s.At <= now-r.period
	}
	return s.At <= now
}
