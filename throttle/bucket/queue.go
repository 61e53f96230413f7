package bucket

import (
	"context"
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	maxBatch = 4096        // waiters that one store call is made for
	maxPause = time.Minute // between two store calls for a queue
)

// queues are the calls of Wait, by key. Each key has one queue, and one goroutine that calls the
// store for all its waiters.
type queues struct {
	mu    sync.Mutex
	byKey map[string]*queue
}

// queue is the waiters for the tokens of one bucket, in order of arrival. queues.mu guards it.
// Only the goroutine of the queue writes its times, so that this goroutine reads retryAt without
// the lock.
type queue struct {
	waiters []*waiter
	tokenAt time.Time     // the queue cannot have enough tokens earlier; zero if unknown
	enough  int64         // tokens that are available at tokenAt at the earliest
	retryAt time.Time     // when to call the store again
	stale   bool          // tokenAt and retryAt are out of date: call the store
	changed chan struct{} // a waiter has left, or stale was set
}

// empty reports whether no call waits for a key.
func (qs *queues) empty(key string) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.byKey[key] == nil
}

// enqueue adds a waiter to the queue of a key, unless its deadline is known to be too early.
func (l *Limiter) enqueue(key string, limit *Limit, w *waiter) {
	l.queues.mu.Lock()
	defer l.queues.mu.Unlock()
	if l.queues.byKey == nil {
		l.queues.byKey = map[string]*queue{}
	}
	q := l.queues.byKey[key]
	if q == nil {
		q = &queue{changed: make(chan struct{}, 1)}
		l.queues.byKey[key] = q
		go l.serve(key, q)
	}
	total := w.n
	if w.hasDeadline {
		for _, other := range q.waiters[:min(len(q.waiters), maxBatch)] {
			if !other.left {
				total = addCapped(total, other.n)
			}
		}
	}
	if !q.denyLate(l.config.Name, key, limit, w, total, time.Now()) {
		q.waiters = append(q.waiters, w)
	}
}

// leave marks a waiter as gone.
func (qs *queues) leave(key string, w *waiter) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	w.left = true
	if q := qs.byKey[key]; q != nil {
		q.wake()
	}
}

// recheck makes the queue of a key call the store: there may be tokens.
func (qs *queues) recheck(key string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q := qs.byKey[key]; q != nil {
		q.stale = true
		q.wake()
	}
}

// recheckAll makes all queues call the store.
func (qs *queues) recheckAll() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.byKey {
		q.stale = true
		q.wake()
	}
}

// wake wakes the goroutine of the queue.
func (q *queue) wake() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// denyLate denies a waiter if it will miss its deadline, and reports whether it did. Total is the
// tokens of the waiter and of those before it.
func (q *queue) denyLate(name, key string, limit *Limit, w *waiter, total int64, now time.Time) bool {
	if !w.hasDeadline || w.left {
		return false
	}
	after := q.minWait(limit, total, now)
	if after <= 0 || !w.deadline.Before(now.Add(after)) {
		return false
	}
	w.left = true
	w.result <- waitResult{q.source(), &DeniedError{Limiter: name, Key: key, RetryAfter: after}}
	return true
}

// minWait returns the shortest time until total tokens can be granted to the queue.
func (q *queue) minWait(limit *Limit, total int64, now time.Time) time.Duration {
	missing, until := total-limit.Capacity, time.Duration(0)
	if q.source() == SourcePolicy && !q.stale { // at retryAt the store may answer, with a full bucket
		until = max(0, q.retryAt.Sub(now))
	}
	if q.tokenAt.After(now) && !q.stale && total >= q.enough {
		missing, until = total-q.enough, q.tokenAt.Sub(now)
	}
	if limit.Algorithm == Fixed || missing <= 0 {
		return until
	}
	high, low := bits.Mul64(uint64(missing), uint64(limit.Interval()))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(addCapped(int64(until), int64(low)))
}

// source returns the source of the last decision. A policy sets retryAt only.
func (q *queue) source() Source {
	if q.tokenAt.IsZero() && !q.retryAt.IsZero() {
		return SourcePolicy
	}
	return SourceStore
}

// serve serves a queue until it is empty.
func (l *Limiter) serve(key string, q *queue) {
	spare := int64(0) // granted by the store, but the waiter had left, or too few for the first waiter
	for {
		d := l.demand(key, q)
		if d.waiters == 0 {
			l.giveBack(context.Background(), key, spare)
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
			answer, err = l.takeFor(key, limit, d)
		}
		available := spare
		if err == nil {
			available += answer.Granted
		}
		left := l.grant(key, q, limit, d.head, available, answer, err)
		if answer.Source == SourcePolicy {
			left = min(left, spare) // tokens of a policy are not given back
		}
		spare = left
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

// takeFor calls the store for the waiters of a queue, unless spare tokens suffice for the first.
func (l *Limiter) takeFor(key string, limit *Limit, d demand) (Decision, error) {
	if d.first <= 0 {
		return Decision{}, nil
	}
	if err := checkTokens(limit, d.first); err != nil { // the limit was higher before
		return Decision{}, err
	}
	return l.callStore(context.Background(), storeRequest{store.Request{Key: key, Limit: *limit, Min: d.first, Max: d.total}, d.waiters, 0})
}

// sleep waits for a time, or until the queue has changed.
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
		if d.Granted > 0 {
			q.enough = n + 1
		}
		q.schedule(l.config.Name, key, limit, d, time.Now())
	}
	return n
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

// addCapped adds two numbers >= 0, up to the largest int64.
func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
