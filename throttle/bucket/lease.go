package bucket

import (
	"context"
	"time"
)

// leaseSpan is how much of what comes back a lease may be.
const leaseSpan = 10 * time.Millisecond

// lease is what was fetched ahead for one bucket, or that there was nothing to fetch. The lock of flights guards it.
type lease struct {
	tokens int64     // fetched ahead
	retry  time.Time // if there were none: when to come again
	full   time.Time // when the bucket would be full, as the store has told
	until  time.Time // the tokens are given back then, and the store is asked again
	armed  bool      // a timer will see to that
}

// leaseSize returns how many tokens of a bucket one process fetches ahead at most: no more than come back in 10 ms, and than a quarter of its
// share of the capacity, so that others find some.
func (c *Config) leaseSize(limit *Limit) int64 {
	if c.Lease == 0 {
		return 0
	}
	soon := float64(limit.Refill) * float64(leaseSpan) / float64(limit.Period)
	return min(max(1, int64(min(soon, float64(c.Lease)))), limit.Capacity/int64(4*c.Replicas))
}

// decide decides about one token, if that is known.
func (a *lease) decide(limit *Limit) (Decision, bool) {
	if !a.armed {
		return Decision{}, false
	}
	now := time.Now()
	switch {
	case !now.Before(a.until):
		return Decision{}, false
	case a.tokens > 0:
		a.tokens--
		return Decision{
			Allowed: true, Granted: 1, Limit: limit.Capacity, Remaining: a.tokens, ResetAfter: max(0, a.full.Sub(now)), Source: SourceLease,
		}, true
	case now.Before(a.retry):
		return Decision{Limit: limit.Capacity, RetryAfter: a.retry.Sub(now), ResetAfter: max(0, a.full.Sub(now)), Source: SourceLease}, true
	}
	return Decision{}, false
}

// wish is how many tokens to fetch beside those that are asked for.
func (f *flights) wish(l *Limiter, r *route, limit *Limit) int64 {
	if f.closed {
		return 0
	}
	return max(0, l.config.leaseSize(limit)-r.lease.tokens)
}

// keep keeps tokens for those who come next, and returns how many are too many.
func (f *flights) keep(l *Limiter, key string, r *route, limit *Limit, spare int64, reset time.Duration) int64 {
	kept := min(spare, f.wish(l, r, limit))
	if kept == 0 {
		return spare
	}
	r.lease.tokens += kept
	r.lease.full = time.Now().Add(reset)
	f.hold(l, key, r, l.config.LeaseFor)
	return spare - kept
}

// remember keeps in mind that the bucket is empty, until half a lease will be there: who asks for each token by itself asks often.
func (f *flights) remember(l *Limiter, key string, r *route, now *flight) {
	size := l.config.leaseSize(now.limit)
	if size == 0 || f.closed || now.err != nil || now.d.Source != SourceStore || now.d.Granted >= int64(now.aboard-len(now.behind)) {
		return
	}
	wait := now.d.RetryAfter
	if now.limit.Algorithm == Continuous {
		wait += time.Duration(size/2) * now.limit.Interval()
	}
	r.lease.retry = time.Now().Add(wait)
	r.lease.full = time.Now().Add(now.d.ResetAfter)
	f.hold(l, key, r, min(wait, l.config.LeaseFor))
}

// learn forgets that a bucket was empty.
func (f *flights) learn(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.routes[key]; r != nil {
		r.lease.retry = time.Time{}
	}
}

// hold keeps a lease for a while.
func (f *flights) hold(l *Limiter, key string, r *route, d time.Duration) {
	r.lease.until = time.Now().Add(d)
	if !r.lease.armed {
		r.lease.armed = true
		time.AfterFunc(d, func() { f.end(l, key, r) })
	}
}

// end ends a lease whose time is over.
func (f *flights) end(l *Limiter, key string, r *route) {
	f.mu.Lock()
	if left := time.Until(r.lease.until); left > 0 {
		time.AfterFunc(left, func() { f.end(l, key, r) })
		f.mu.Unlock()
		return
	}
	unused := r.lease.tokens
	r.lease = lease{}
	f.forget(key, r)
	f.mu.Unlock()
	l.giveBack(context.Background(), key, unused)
}

// close gives back what was fetched ahead, as far as the store takes it in time. Nothing is fetched ahead any more.
func (f *flights) close(l *Limiter) {
	unused := map[string]int64{}
	f.mu.Lock()
	f.closed = true
	for key, r := range f.routes {
		if r.lease.tokens > 0 {
			unused[key], r.lease.tokens = r.lease.tokens, 0
		}
	}
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.config.StoreTimeout)
	defer cancel()
	for key, n := range unused {
		l.giveBack(ctx, key, n)
	}
}
