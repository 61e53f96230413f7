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
	mostServed     = 4096        // of a line, for whom the store is asked at once
	longestUnasked = time.Minute // after which the store is asked again, also if nothing should have come back
)

// lines are those who wait for tokens, by key. Each key has one line, and at most one goroutine, which asks the store for as many as wait.
type lines struct {
	mu   sync.Mutex
	line map[string]*line
}

// line is who waits for the tokens of one bucket, the first to come first.
type line struct {
	queue   []*waiter
	next    time.Time     // before which the line cannot have enough tokens, if that is known
	enough  int64         // as many as the store was asked for at least, or one more than there are now
	look    time.Time     // when to ask the store again
	again   bool          // what was known is no longer so: ask again
	changed chan struct{} // somebody has left, or what was known is no longer so
}

// nobody reports whether nobody waits for a bucket.
func (s *lines) nobody(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line[key] == nil
}

// queueUp joins the line of a key, unless it is known that the deadline will be missed.
func (l *Limiter) queueUp(key string, limit *Limit, w *waiter) {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	if l.lines.line == nil {
		l.lines.line = map[string]*line{}
	}
	q := l.lines.line[key]
	if q == nil {
		q = &line{changed: make(chan struct{}, 1)}
		l.lines.line[key] = q
		go l.serve(key, q)
	}
	ahead := w.n
	if w.hurried {
		for _, other := range q.queue[:min(len(q.queue), mostServed)] {
			ahead = other.addTo(ahead)
		}
	}
	if !q.dismiss(l.config.Name, key, limit, w, ahead, time.Now()) {
		q.queue = append(q.queue, w)
	}
}

// leave takes somebody out of the line.
func (s *lines) leave(key string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.left = true
	if q := s.line[key]; q != nil {
		q.wake()
	}
}

// learn tells the line of a key that what it knows is no longer so: there may be tokens.
func (s *lines) learn(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.line[key]; q != nil {
		q.again = true
		q.wake()
	}
}

// learnAll tells all lines.
func (s *lines) learnAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.line {
		q.again = true
		q.wake()
	}
}

// wake lets whoever serves the line look at it.
func (q *line) wake() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// dismiss tells somebody who will miss his deadline so, and reports whether he will. He and those before him want so many tokens.
func (q *line) dismiss(name, key string, limit *Limit, w *waiter, ahead int64, now time.Time) bool {
	if !w.hurried || w.left {
		return false
	}
	after := q.earliest(limit, ahead, now)
	if after <= 0 || !w.deadline.Before(now.Add(after)) {
		return false
	}
	w.left = true
	w.served <- service{q.source(), &DeniedError{Limiter: name, Key: key, RetryAfter: after}}
	return true
}

// earliest is how long it takes at least until so many tokens were granted to the line.
func (q *line) earliest(limit *Limit, ahead int64, now time.Time) time.Duration {
	behind, until := ahead-limit.Capacity, time.Duration(0)
	if q.source() == SourcePolicy && !q.again { // the store may be back at the next look, and its bucket full
		until = max(0, q.look.Sub(now))
	}
	if q.next.After(now) && !q.again && ahead >= q.enough {
		behind, until = ahead-q.enough, q.next.Sub(now)
	}
	if limit.Algorithm == Fixed || behind <= 0 {
		return until
	}
	high, low := bits.Mul64(uint64(behind), uint64(limit.Interval()))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(addUp(int64(until), int64(low)))
}

// source is who has decided last: a policy knows of a next look only.
func (q *line) source() Source {
	if q.next.IsZero() && !q.look.IsZero() {
		return SourcePolicy
	}
	return SourceStore
}

// serve serves a line until nobody is in it.
func (l *Limiter) serve(key string, q *line) {
	spare := int64(0) // granted by the store, but to somebody who had left, or not enough for the first
	for {
		want := l.wanted(key, q)
		if want.waiters == 0 {
			l.giveBack(context.Background(), key, spare)
			return
		}
		if early := time.Until(q.look); early > 0 {
			q.await(early)
			continue
		}
		asked := want.first
		want.first, want.all = want.first-spare, want.all-spare
		limit, err := l.limitApart(key)
		var d Decision
		if err == nil {
			d, err = l.askFor(key, limit, want)
		}
		have := spare
		if err == nil {
			have += d.Granted
		}
		left := l.give(key, q, limit, asked, have, d, err)
		if d.Source == SourcePolicy {
			left = min(left, spare) // what a policy has granted is nobody's to give back
		}
		spare = left
	}
}

// want is what the line wants: the first in it, and all together.
type want struct {
	first, all int64
	waiters    int
}

// wanted returns what the line wants. When nobody is in it any more it ends.
func (l *Limiter) wanted(key string, q *line) (w want) {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	q.tidy()
	if len(q.queue) == 0 {
		delete(l.lines.line, key)
		return w
	}
	if q.again {
		q.next, q.look, q.again = time.Time{}, time.Time{}, false
	}
	w.first, w.waiters = q.queue[0].n, min(len(q.queue), mostServed)
	for _, other := range q.queue[:w.waiters] {
		w.all = addUp(w.all, other.n)
	}
	return w
}

// tidy takes out who has left. Who is first now may want less, and be served earlier.
func (q *line) tidy() {
	stay := q.queue[:0]
	for _, w := range q.queue {
		if !w.left {
			stay = append(stay, w)
		}
	}
	clear(q.queue[len(stay):])
	q.queue = stay
	if len(stay) > 0 && stay[0].n < q.enough {
		q.next, q.look = time.Time{}, time.Time{}
	}
}

// askFor asks the store for those in line, unless what is spare is enough for the first.
func (l *Limiter) askFor(key string, limit *Limit, w want) (Decision, error) {
	if w.first <= 0 {
		return Decision{}, nil
	}
	if err := acceptable(limit, w.first); err != nil { // it was higher before
		return Decision{}, err
	}
	return l.ask(context.Background(), question{store.Request{Key: key, Limit: *limit, Min: w.first, Max: w.all}, w.waiters, 0, true})
}

// await waits for the next token, or until somebody leaves: he may have been the only one.
func (q *line) await(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.changed:
	}
}

// give serves those at the head of the line out of n tokens, or tells the first of them an error, and returns what is left. Who is known to be
// too late now is told so. The first wanted so many as asked when the store was asked; he may have left since.
func (l *Limiter) give(key string, q *line, limit *Limit, asked, n int64, d Decision, err error) int64 {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	q.next, q.look = time.Time{}, time.Time{}
	q.tidy()
	for len(q.queue) > 0 && (err != nil || q.queue[0].n <= n) {
		w := q.queue[0]
		q.queue = q.queue[1:]
		w.served <- service{d.Source, err}
		if err != nil {
			return n
		}
		n -= w.n
	}
	if err == nil && d.RetryAfter > 0 {
		q.enough = asked
		if d.Granted > 0 {
			q.enough = n + 1
		}
		q.plan(l.config.Name, key, limit, d, time.Now())
	}
	return n
}

// plan plans when to ask again, and tells those who will be too late. What a policy says holds only until the store is back, which is looked for
// soon; and what the store says may change by what others do.
func (q *line) plan(name, key string, limit *Limit, d Decision, now time.Time) {
	if d.Source == SourcePolicy {
		q.look = now.Add(min(d.RetryAfter, remote.LongestRest))
	} else {
		q.next = now.Add(d.RetryAfter)
		q.look = now.Add(min(d.RetryAfter, longestUnasked))
	}
	ahead := int64(0)
	for _, w := range q.queue[:min(len(q.queue), mostServed)] {
		with := w.addTo(ahead)
		if !q.dismiss(name, key, limit, w, with, now) {
			ahead = with
		}
	}
}
