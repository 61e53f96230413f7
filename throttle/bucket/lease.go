package bucket

import (
	"context"
	"sync"
	"time"
)

// maxLeaseSpan limits a lease to the tokens that are refilled in this time.
const maxLeaseSpan = 10 * time.Millisecond

// lease is the tokens of one key that were fetched ahead, or a cached denial. The mutex of its
// part guards it.
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

func (s *keyState) leaseRoom(l *Limiter, limit *Limit) int64 {
	if l.closing.Load() {
		return 0
	}
	return max(0, l.config.leaseSize(limit)-s.lease.tokens)
}

// extendLease puts tokens that no caller of a batch uses into the lease, and returns the number that do not
// fit.
func (p *part) extendLease(l *Limiter, b *batch, unused int64) int64 {
	s := b.shared
	kept := min(unused, s.leaseRoom(l, &b.Limit))
	if kept == 0 {
		return unused
	}
	s.lease.tokens += kept
	s.lease.fullAt = time.Now().Add(b.answer.ResetAfter)
	p.activate(l, b.Key, s, l.config.LeaseFor)
	return unused - kept
}

// cacheDenial caches a denial until half a lease will be refilled. It saves store calls for a
// bucket that is requested often.
func (p *part) cacheDenial(l *Limiter, b *batch) {
	size := l.config.leaseSize(&b.Limit)
	if size == 0 || l.closing.Load() || b.err != nil || b.answer.Source != SourceStore || b.answer.Granted >= int64(b.requests) {
		return
	}
	wait := b.answer.RetryAfter
	if b.Limit.Algorithm == Continuous {
		wait += time.Duration(size/2) * b.Limit.Interval()
	}
	b.shared.lease.retryAt = time.Now().Add(wait)
	b.shared.lease.fullAt = time.Now().Add(b.answer.ResetAfter)
	p.activate(l, b.Key, b.shared, min(wait, l.config.LeaseFor))
}

func (p *part) forgetDenial(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.keys[key]; s != nil {
		s.lease.retryAt = time.Time{}
	}
}

func (p *part) activate(l *Limiter, key string, s *keyState, d time.Duration) {
	s.lease.expiresAt = time.Now().Add(d)
	if !s.lease.active {
		s.lease.active = true
		time.AfterFunc(d, func() { p.expireLease(l, key, s) })
	}
}

func (p *part) expireLease(l *Limiter, key string, s *keyState) {
	p.mu.Lock()
	if left := time.Until(s.lease.expiresAt); left > 0 {
		time.AfterFunc(left, func() { p.expireLease(l, key, s) })
		p.mu.Unlock()
		return
	}
	unused := s.lease.tokens
	s.lease = lease{}
	p.drop(key, s)
	p.mu.Unlock()
	l.giveBack(context.Background(), key, unused, false)
}

// closeLeases gives back the tokens of all leases, within Config.StoreTimeout. No tokens are fetched
// ahead afterwards.
func (l *Limiter) closeLeases() {
	unused := map[string]int64{}
	l.eachPart(func(p *part) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for key, s := range p.keys {
			if s.lease.tokens > 0 {
				unused[key], s.lease.tokens = unused[key]+s.lease.tokens, 0
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), l.config.StoreTimeout)
	defer cancel()
	var all sync.WaitGroup
	slots := make(chan struct{}, l.maxCalls())
	for key, n := range unused {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			l.giveBack(ctx, key, n, false)
		})
	}
	all.Wait()
}
