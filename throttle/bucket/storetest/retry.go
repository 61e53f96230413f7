package storetest

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func retryCases() []testCase {
	return []testCase{
		{"who waits for RetryAfter is granted", retryIsEnough},
		{"who comes before is not", retryIsNotTooMuch},
		{"after a part", retryAfterPart},
	}
}

// shorts are limits of which something comes back soon, and how many tokens to wait for.
func shorts() []struct {
	limit bucket.Limit
	n     int64
} {
	return []struct {
		limit bucket.Limit
		n     int64
	}{
		{bucket.Limit{Capacity: 1, Refill: 1, Period: 30 * time.Millisecond}, 1},
		{bucket.Limit{Capacity: 5, Refill: 3, Period: 20*time.Millisecond + 1}, 1},
		{bucket.Limit{Capacity: 5, Refill: 7, Period: 20 * time.Millisecond}, 5},
		{bucket.Limit{Capacity: 7, Refill: 1000, Period: 999_999}, 1},
		{bucket.Limit{Capacity: 3, Refill: 3, Period: 35*time.Millisecond + 77, Algorithm: bucket.Fixed}, 2},
	}
}

// emptied takes all there is until so many tokens are denied. It may be that they come back quicker than they are taken.
func (r *rig) emptied(key string, l bucket.Limit, n int64) (denied operation, ok bool) {
	r.Helper()
	for range 20 {
		r.take(r.Store, key, l, 0, l.Capacity)
		if o := r.take(r.Store, key, l, n, n); !o.decision.Allowed {
			return o, true
		}
	}
	return operation{}, false
}

// waits until the local clock has reached a time, and some nanoseconds.
func (r *rig) waits(until int64) {
	for r.now() < until {
		r.Pause(max(time.Microsecond, time.Duration(until-r.now())))
	}
}

func retryIsEnough(r *rig) {
	for _, c := range shorts() {
		key := r.key(said(c.limit))
		for range 5 {
			denied, ok := r.emptied(key, c.limit, c.n)
			if !ok {
				continue
			}
			r.waits(denied.returned + int64(denied.decision.RetryAfter))
			if o := r.take(r.Store, key, c.limit, c.n, c.n); !o.decision.Allowed {
				r.Errorf("%s: got %v, after which, in vain, %v\nwant it granted once RetryAfter is over, for nobody else has asked", said(c.limit), denied, o)
			}
		}
	}
}

// retryIsNotTooMuch asks shortly before, which is only true if the answer has come before too.
func retryIsNotTooMuch(r *rig) {
	for _, c := range shorts() {
		key := r.key(said(c.limit))
		early := time.Millisecond / 4 // by which it asks before
		for range 8 {
			denied, ok := r.emptied(key, c.limit, c.n)
			if !ok {
				continue
			}
			due := denied.called + int64(denied.decision.RetryAfter) - 2*r.resolution
			r.waits(due - int64(early))
			o := r.take(r.Store, key, c.limit, c.n, c.n)
			if o.returned >= due {
				early *= 2
			} else if o.decision.Allowed {
				r.Errorf("%s: got %v, but before that was over %v\nwant RetryAfter to be no longer than it takes", said(c.limit), denied, o)
			}
		}
	}
}

// retryAfterPart waits for the next token when only a part was granted.
func retryAfterPart(r *rig) {
	for _, c := range shorts() {
		key := r.key(said(c.limit))
		for range 3 {
			o := r.take(r.Store, key, c.limit, 0, c.limit.Capacity+1)
			if o.decision.RetryAfter <= 0 {
				r.Errorf("%s: got %v, want to be told when the next one comes", said(c.limit), o)
			}
			r.waits(o.returned + int64(o.decision.RetryAfter))
			if next := r.take(r.Store, key, c.limit, 1, 1); !next.decision.Allowed {
				r.Errorf("%s: got %v, after which, in vain, %v", said(c.limit), o, next)
			}
		}
	}
}
