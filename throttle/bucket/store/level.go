package store

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
)

// Level is the state of one bucket, which a store keeps: how full it is by the limit that wrote the
// level last, and the rate of that limit. The zero Level is a full bucket.
type Level struct {
	// At is a time in nanoseconds since 1970, by the store's clock. A Continuous bucket is full at
	// At. The period of a Fixed bucket began at At.
	At int64
	// Used is the number of tokens that a Fixed bucket has granted in that period. A negative Used
	// counts as 0.
	Used int64
	// Interval is [Limit.Interval] of a Continuous limit, or 0.
	Interval int64
	// Period is the period of a Fixed limit in nanoseconds, or 0. If Interval and Period are 0, the
	// level has the rate of the limit that reads it.
	Period int64
	// Capacity is the capacity of the limit.
	Capacity int64
	// Other is how full the bucket is by another limit that was used before, or is still used by
	// other processes. Without one it is zero.
	Other Other
}

// Other is how full a bucket is by another limit. The fields are those of [Level].
type Other struct {
	At, Used, Interval, Period, Capacity int64
}

// Take takes at least atLeast and at most atMost tokens, or none, at a time in nanoseconds since
// 1970. It returns the new level and the decision. The limit must be valid, and atLeast must be at
// most its capacity. A store need not write a level that has not changed.
//
// If another limit has written the level, the new level has both. Each limit decides by its own
// state, and each grant is charged to both, at most until they are empty. So once all processes
// have the same limit, it alone decides. The other state is dropped when it is full. A limit that
// comes anew owes as many tokens as the other one, at most its own capacity. That is written even
// if nothing is granted. Of three limits, the two with smaller capacities replace each other.
//
// While processes have different limits, they are granted in any time t at most the largest
// capacity and the highest rate * t, and if some limits are Fixed, the largest capacity of these.
// RetryAfter may be too short or too long then.
//
// A clock that steps back adds no tokens, and the bucket waits until the clock has caught up. If
// the clock steps back by more than a second, and the level is further ahead than the limit that
// wrote it can have brought it, the bucket counts as empty, and Take writes that.
func (v Level) Take(l Limit, now, atLeast, atMost int64) (Level, Decision) {
	rate, state := l.rate(), v.state()
	d := Decision{Limit: l.Capacity}
	var retry, reset int64
	d.Allowed, d.Granted, d.Remaining, retry, reset = rate.Take(&state, now, atLeast, atMost)
	d.RetryAfter, d.ResetAfter = time.Duration(retry), time.Duration(reset)
	return levelOf(&state), d
}

// FullAt returns the time at which the bucket is full, in nanoseconds since 1970, if no more tokens
// are taken. A store may delete the level then.
func (v Level) FullAt() int64 {
	state := v.state()
	return state.FullAt()
}

// Return gives back n tokens that were not used. A bucket never holds more than its capacity.
// Tokens of any limit are given back to the limit that wrote the level.
func (v Level) Return(l Limit, now, n int64) Level {
	rate, state := l.rate(), v.state()
	rate.Return(&state, now, n)
	return levelOf(&state)
}

// Full reports whether the bucket is full. A store may then delete the level.
func (v Level) Full(l Limit, now int64) bool {
	rate, state := l.rate(), v.state()
	return rate.Full(&state, now)
}

func (v Level) state() refill.State {
	return refill.State{
		Entry: refill.Entry{At: v.At, Used: v.Used, Interval: v.Interval, Period: v.Period, Capacity: v.Capacity},
		Other: refill.Entry(v.Other),
	}
}

func levelOf(s *refill.State) Level {
	return Level{s.At, s.Used, s.Interval, s.Period, s.Capacity, Other(s.Other)}
}

func (l Limit) rate() refill.Rate {
	l = l.WithDefaults()
	return refill.New(l.Capacity, int64(l.Interval()), int64(l.Period), l.Algorithm == Fixed)
}
