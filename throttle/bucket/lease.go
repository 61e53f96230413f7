package bucket

import (
	"context"
	"time"
)

// maxLeaseSpan limits a lease to the tokens that are refilled in this time.
const maxLeaseSpan = 10 * time.Millisecond

// lease is the tokens of one key that were fetched ahead, or a cached denial. batcher.mu guards
// it.
type lease struct {
	tokens    int64     // fetched ahead
	retryAt   time.Time // until then a denial is cached
	fullAt    time.Time // when the bucket will be full, by the store's last answer
	expiresAt time.Time // then unused tokens are given back
	active    bool      // a timer will expire it
}

// leaseSize returns the largest lease of a bucket: the tokens that are refilled in 10 ms, but at
// most a quarter of this process's share of the capacity. The rest is for other processes.
func (c *Config) leaseSize(limit *Limit) int64 {
	if c.Lease == 0 {
		return 0
	}
	refilled := float64(limit.Refill) * float64(maxLeaseSpan) / float64(limit.Period)
	return min(max(1, int64(min(refilled, float64(c.Lease)))), limit.Capacity/int64(4*max(1, c.Replicas)))
}

// decide decides a request for one token. It returns false if a store call is needed.
func (a *lease) decide(limit *Limit) (Decision, bool) {
	if !a.active {
		return Decision{}, false
	}
	now := time.Now()
	switch {
	case !now.Before(a.expiresAt):
		return Decision{}, false
	case a.tokens > 0:
		a.tokens--
		return Decision{
			Allowed: true, Granted: 1, Limit: limit.Capacity, Remaining: a.tokens, ResetAfter: max(0, a.fullAt.Sub(now)), Source: SourceLease,
		}, true
	case now.Before(a.retryAt):
		return Decision{Limit: limit.Capacity, RetryAfter: a.retryAt.Sub(now), ResetAfter: max(0, a.fullAt.Sub(now)), Source: SourceLease}, true
	}
	return Decision{}, false
}

// leaseRoom returns the number of tokens that fit into the lease of a key.
func (b *batcher) leaseRoom(l *Limiter, s *keyState, limit *Limit) int64 {
	if b.closed {
		return 0
	}
	return max(0, l.config.leaseSize(limit)-s.lease.tokens)
}

// extendLease puts tokens into the lease, and returns the number that do not fit.
func (b *batcher) extendLease(l *Limiter, key string, s *keyState, limit *Limit, unused int64, reset time.Duration) int64 {
	kept := min(unused, b.leaseRoom(l, s, limit))
	if kept == 0 {
		return unused
	}
	s.lease.tokens += kept
	s.lease.fullAt = time.Now().Add(reset)
	b.activate(l, key, s, l.config.LeaseFor)
	return unused - kept
}

// cacheDenial caches a denial until half a lease will be refilled. It saves store calls for a
// bucket that is requested often.
func (b *batcher) cacheDenial(l *Limiter, key string, s *keyState, current *batch) {
	size := l.config.leaseSize(current.limit)
	granted := current.answer.Granted >= int64(current.size-len(current.early))
	if size == 0 || b.closed || current.err != nil || current.answer.Source != SourceStore || granted {
		return
	}
	wait := current.answer.RetryAfter
	if current.limit.Algorithm == Continuous {
		wait += time.Duration(size/2) * current.limit.Interval()
	}
	s.lease.retryAt = time.Now().Add(wait)
	s.lease.fullAt = time.Now().Add(current.answer.ResetAfter)
	b.activate(l, key, s, min(wait, l.config.LeaseFor))
}

// forgetDenial drops the cached denial of a key.
func (b *batcher) forgetDenial(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.keys[key]; s != nil {
		s.lease.retryAt = time.Time{}
	}
}

// activate keeps a lease for a time from now.
func (b *batcher) activate(l *Limiter, key string, s *keyState, d time.Duration) {
	s.lease.expiresAt = time.Now().Add(d)
	if !s.lease.active {
		s.lease.active = true
		time.AfterFunc(d, func() { b.expire(l, key, s) })
	}
}

// expire ends a lease, or starts its timer again if the lease was extended.
func (b *batcher) expire(l *Limiter, key string, s *keyState) {
	b.mu.Lock()
	if left := time.Until(s.lease.expiresAt); left > 0 {
		time.AfterFunc(left, func() { b.expire(l, key, s) })
		b.mu.Unlock()
		return
	}
	unused := s.lease.tokens
	s.lease = lease{}
	b.drop(key, s)
	b.mu.Unlock()
	l.giveBack(context.Background(), key, unused)
}

// close gives back the tokens of all leases, within Config.StoreTimeout. No tokens are fetched
// ahead afterwards.
func (b *batcher) close(l *Limiter) {
	unused := map[string]int64{}
	b.mu.Lock()
	b.closed = true
	for key, s := range b.keys {
		if s.lease.tokens > 0 {
			unused[key], s.lease.tokens = s.lease.tokens, 0
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.config.StoreTimeout)
	defer cancel()
	for key, n := range unused {
		l.giveBack(ctx, key, n)
	}
}
