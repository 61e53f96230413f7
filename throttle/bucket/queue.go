package bucket

import (
	"math"
	"math/bits"
	"sync"
	"time"
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
	collect bool          // others take the tokens before they are enough for a waiter: keep each one
	changed chan struct{} // a waiter has left, or stale was set
}

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

func (qs *queues) recheckAll() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.byKey {
		q.stale = true
		q.wake()
	}
}

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

// addCapped adds two numbers >= 0, up to the largest int64.
func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
