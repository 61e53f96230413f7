package bucket

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

func (l *Limiter) serve(key string, q *queue) {
	spare := int64(0) // granted by the store, but the waiter had left, or too few for the first waiter
	var d demand
	returned := false
	defer func() {
		if !returned { // this goroutine has ended, another one goes on
			l.grant(key, q, nil, d.head, spare, Decision{}, &storeError{errGoexit})
			go l.serve(key, q)
		}
	}()
	for {
		d = l.demand(key, q)
		if d.waiters == 0 {
			returned = true
			l.giveBack(context.Background(), key, spare, false)
			return
		}
		if pause := time.Until(q.retryAt); pause > 0 {
			q.sleep(pause)
			continue
		}
		d.first, d.total = d.first-spare, d.total-spare
		limit, err := l.recoverLimitOf(key)
		var answer Decision
		if err == nil {
			answer, err = l.takeFor(key, limit, d, q.collect)
		}
		available := spare
		if err == nil {
			available += answer.Granted
		}
		left := l.grant(key, q, limit, d.head, available, answer, err)
		if answer.Source == SourcePolicy {
			left = min(left, spare) // tokens of a policy are not given back
		}
		if spare = left; err == nil && limit.Algorithm == Fixed && !q.collect { // it drops them at the end of the period
			spare = 0
			l.giveBack(context.Background(), key, left, false)
		}
	}
}

// demand is the tokens that the waiters of a queue need.
type demand struct {
	head    *waiter // the first waiter
	first   int64   // tokens for it
	total   int64
	waiters int
}

// demand returns the demand of a queue. It deletes an empty queue.
func (l *Limiter) demand(key string, q *queue) (d demand) {
	l.queues.mu.Lock()
	defer l.queues.mu.Unlock()
	q.dropLeft()
	if len(q.waiters) == 0 {
		delete(l.queues.byKey, key)
		return d
	}
	if q.stale {
		q.tokenAt, q.retryAt, q.stale = time.Time{}, time.Time{}, false
	}
	d.head, d.first, d.waiters = q.waiters[0], q.waiters[0].n, min(len(q.waiters), maxBatch)
	for _, w := range q.waiters[:d.waiters] {
		d.total = addCapped(d.total, w.n)
	}
	return d
}

// dropLeft removes the waiters that have left. If the new first waiter needs fewer tokens, the
// store is called at once.
func (q *queue) dropLeft() {
	stay := q.waiters[:0]
	for _, w := range q.waiters {
		if !w.left {
			stay = append(stay, w)
		}
	}
	clear(q.waiters[len(stay):])
	q.waiters = stay
	if len(stay) > 0 && stay[0].n < q.enough {
		q.tokenAt, q.retryAt = time.Time{}, time.Time{}
	}
}

// takeFor calls the store for the waiters of a queue, unless spare tokens suffice for the first. It takes
// what the first waiter needs, or, to collect, any number.
func (l *Limiter) takeFor(key string, limit *Limit, d demand, collect bool) (Decision, error) {
	if d.first <= 0 {
		return Decision{}, nil
	}
	if err := checkTokens(limit, d.first); err != nil { // the limit was higher before
		return Decision{}, err
	}
	atLeast := d.first
	if collect {
		atLeast = 1
	}
	r := store.Request{Key: key, Limit: *limit, Min: atLeast, Max: d.total}
	if l.memory != nil {
		return l.memory.Take(context.Background(), r)
	}
	return l.ask(context.Background(), r, d.waiters, false)
}

func (q *queue) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.changed:
	}
}

// grant gives n tokens to the first waiters of a queue, and returns the tokens that are left. First was
// the first waiter at the time of the store call. If it has not left, it gets err.
func (l *Limiter) grant(key string, q *queue, limit *Limit, first *waiter, n int64, d Decision, err error) int64 {
	l.queues.mu.Lock()
	defer l.queues.mu.Unlock()
	q.collect = d.Source == SourceStore && (q.collect || d.RetryAfter > 0 && !d.Allowed && q.isDue(first.n))
	q.tokenAt, q.retryAt = time.Time{}, time.Time{}
	q.dropLeft()
	if err != nil {
		if len(q.waiters) > 0 && q.waiters[0] == first {
			q.waiters = q.waiters[1:]
			first.result <- waitResult{d.Source, err}
		}
		return n
	}
	for len(q.waiters) > 0 && q.waiters[0].n <= n {
		w := q.waiters[0]
		q.waiters = q.waiters[1:]
		w.result <- waitResult{d.Source, nil}
		n -= w.n
	}
	if d.RetryAfter > 0 {
		q.enough = first.n
		if d.Granted > 0 || q.collect {
			q.enough = n + 1
		}
		q.schedule(l.config.Name, key, limit, d, time.Now())
	}
	return n
}

// isDue reports whether n tokens should be there by the last decision, if no other caller has taken them.
func (q *queue) isDue(n int64) bool {
	return !q.tokenAt.IsZero() && q.enough >= n && !time.Now().Before(q.tokenAt)
}

// schedule sets the time of the next store call, and denies the waiters that will miss their
// deadline. A decision of a policy holds only until the next store call, which is soon.
func (q *queue) schedule(name, key string, limit *Limit, d Decision, now time.Time) {
	if d.Source == SourcePolicy {
		q.retryAt = now.Add(min(d.RetryAfter, remote.LongestRest))
	} else {
		q.tokenAt = now.Add(d.RetryAfter)
		q.retryAt = now.Add(min(d.RetryAfter, maxPause))
	}
	total := int64(0)
	for _, w := range q.waiters[:min(len(q.waiters), maxBatch)] {
		if w.left {
			continue
		}
		with := addCapped(total, w.n)
		if !q.denyLate(name, key, limit, w, with, now) {
			total = with
		}
	}
}
