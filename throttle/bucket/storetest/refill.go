package storetest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func refillCases() []testCase {
	return []testCase{
		{"adds tokens evenly", refillEvenly},
		{"never exceeds the capacity", refillNoFurther},
		{"a Fixed bucket fills when a period begins", refillAtOnce},
		{"Fixed periods are aligned", refillOnGrid},
	}
}

// refillEvenly takes tokens at random times while a bucket fills. One limit's interval is rounded
// to whole nanoseconds.
func refillEvenly(r *fixture) {
	random := rand.New(rand.NewPCG(9, 2))
	for _, l := range []bucket.Limit{
		{Capacity: 5, Refill: 1, Period: 12 * time.Millisecond},
		{Capacity: 30, Refill: 3, Period: 10 * time.Millisecond},
	} {
		key := r.key(describe(l))
		r.take(r.Store, key, l, l.Capacity, l.Capacity)
		for range 15 {
			r.Pause(time.Duration(random.Int64N(int64(10 * time.Millisecond))))
			r.take(r.Store, key, l, random.Int64N(3), 2+random.Int64N(4))
		}
	}
}

func refillNoFurther(r *fixture) {
	for _, l := range []bucket.Limit{
		{Capacity: 3, Refill: 1, Period: 5 * time.Millisecond},
		{Capacity: 3, Refill: 3, Period: 5 * time.Millisecond, Algorithm: bucket.Fixed},
	} {
		key := r.key(describe(l))
		for range 3 {
			r.take(r.Store, key, l, 1, 3)
			r.Pause(8*5*time.Millisecond + 2*time.Duration(r.resolution))
			if d := r.peek(r.Store, key, l).decision; d.Remaining != 3 || d.ResetAfter != 0 {
				r.Errorf("%s, idle for longer than it takes to fill: got %s, want a full bucket", describe(l), describeDecision(d))
			}
			if d := r.take(r.Store, key, l, 1, math.MaxInt64).decision; d.Granted != 3 {
				r.Errorf("%s, idle for longer than it takes to fill: got %s, want 3 granted, the capacity", describe(l), describeDecision(d))
			}
		}
	}
}

// refillAtOnce takes tokens in several periods of a Fixed bucket, close to where periods begin.
func refillAtOnce(r *fixture) {
	l := bucket.Limit{Capacity: 4, Period: 30 * time.Millisecond, Algorithm: bucket.Fixed}.WithDefaults()
	key := r.key("fixed")
	for range 30 {
		r.take(r.Store, key, l, 1, 2)
		r.Pause(5 * time.Millisecond)
	}
}

// refillOnGrid compares where the periods of several buckets begin. The buckets are first used at
// different times.
func refillOnGrid(r *fixture) {
	const hour = int64(time.Hour)
	var first span
	for i, period := range []int64{hour, hour, hour / 3, hour / 4} {
		l := bucket.Limit{Capacity: 1 + int64(i), Period: time.Duration(period), Algorithm: bucket.Fixed}.WithDefaults()
		o := r.take(r.Store, r.key(describe(l)), l, 1, 1)
		begins := o.window(r.resolution).moved(int64(o.decision.ResetAfter) - period)
		if i == 0 {
			first = begins
		}
		off := (begins.from - first.from) % period
		if off < 0 {
			off += period
		}
		room := first.to - first.from + begins.to - begins.from
		if off > room && period-off > room {
			r.Errorf("Fixed periods of an hour and of %v begin %v apart: want a multiple of the shorter period, because periods are aligned",
				time.Duration(period), time.Duration(off))
		}
		r.Pause(40 * time.Millisecond)
	}
}

func retryCases() []testCase {
	return []testCase{
		{"RetryAfter is long enough", func(r *fixture) { r.repeatDenied(3, 0) }},
		{"RetryAfter is not too long", func(r *fixture) { r.repeatDenied(5, time.Millisecond/4) }},
		{"a partial grant has a RetryAfter", retryAfterPart},
	}
}

// quickLimits add tokens soon.
func quickLimits() []bucket.Limit {
	return []bucket.Limit{
		{Capacity: 1, Refill: 1, Period: 30 * time.Millisecond},
		{Capacity: 5, Refill: 3, Period: 20*time.Millisecond + 1},
		{Capacity: 5, Refill: 7, Period: 20 * time.Millisecond},
		{Capacity: 7, Refill: 1000, Period: 999_999},
		{Capacity: 3, Refill: 3, Period: 35*time.Millisecond + 77, Algorithm: bucket.Fixed},
	}
}

// drain empties a bucket until a request for n tokens is denied. Tokens may be added faster than it
// takes them.
func (r *fixture) drain(key string, l bucket.Limit, n int64) (denied operation, ok bool) {
	r.Helper()
	for range 20 {
		r.take(r.Store, key, l, 0, l.Capacity)
		if o := r.take(r.Store, key, l, n, n); !o.decision.Allowed {
			return o, true
		}
	}
	return operation{}, false
}

func (r *fixture) waitUntil(until int64) {
	for r.now() < until {
		r.Pause(max(time.Microsecond, time.Duration(until-r.now())))
	}
}

// repeatDenied repeats denied requests when RetryAfter is over, or early. An early answer counts only if
// it arrived before RetryAfter was over.
func (r *fixture) repeatDenied(times int, early time.Duration) {
	r.Helper()
	for _, l := range quickLimits() {
		key, n, before := r.key(describe(l)), (l.Capacity+1)/2, early
		for range times {
			denied, ok := r.drain(key, l, n)
			if !ok {
				continue
			}
			due := denied.returned + int64(denied.decision.RetryAfter)
			if early > 0 {
				due = denied.called + int64(denied.decision.RetryAfter) - 2*r.resolution
			}
			r.waitUntil(due - int64(before))
			o := r.take(r.Store, key, l, n, n)
			if early > 0 && o.returned >= due {
				before *= 2
			} else if granted := o.decision.Allowed; granted != (early == 0) {
				r.Errorf("%s: RetryAfter is too short or too long: after it was over: %v, granted: %v:\ngot %v\nand %v",
					describe(l), early == 0, granted, denied, o)
			}
		}
	}
}

// retryAfterPart waits for the next token after a request was granted in part.
func retryAfterPart(r *fixture) {
	for _, l := range quickLimits() {
		key := r.key(describe(l))
		for range 3 {
			o := r.take(r.Store, key, l, 0, l.Capacity+1)
			if o.decision.RetryAfter <= 0 {
				r.Errorf("%s: got %v, want a RetryAfter above 0: the time to the next token", describe(l), o)
			}
			r.waitUntil(o.returned + int64(o.decision.RetryAfter))
			if next := r.take(r.Store, key, l, 1, 1); !next.decision.Allowed {
				r.Errorf("%s: RetryAfter of a partial grant is too short: it is over, and no token is granted:\ngot %v\nand %v", describe(l), o, next)
			}
		}
	}
}
