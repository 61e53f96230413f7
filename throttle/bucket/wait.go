package bucket

import (
	"context"
	"sync"
	"time"
)

// lines are those who wait for tokens, by key. Each key has one line, and at most one goroutine, which asks the store for as many as wait.
type lines struct {
	mu   sync.Mutex
	line map[string]*line
}

// line is who waits for the tokens of one bucket, the first to come first.
type line struct {
	queue   []*waiter
	changed chan struct{} // somebody has left
}

// waiter is somebody who waits.
type waiter struct {
	n      int64
	served chan error // has room for the answer
	left   bool       // nobody waits for it any more
}

// Wait takes n tokens as soon as they are there and those who have waited longer have theirs. It returns a *[DeniedError] at once if ctx has a
// deadline before which they cannot be there, and the error of ctx if that ends. Tokens that are granted at that moment are given back.
func (l *Limiter) Wait(ctx context.Context, key string, n int64) error {
	limit := l.limitOf(key)
	if err := acceptable(limit, n); err != nil || n == 0 {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	w, ahead := l.queueUp(key, n)
	if after := (ahead - limit.Capacity) * int64(limit.Interval()); limit.Algorithm == Continuous && tooLate(ctx, time.Duration(after)) {
		l.leave(key, w)
		l.count(denied, 0)
		return &DeniedError{Limiter: l.config.Name, Key: key, RetryAfter: time.Duration(after)}
	}
	select {
	case err := <-w.served:
		return err
	case <-ctx.Done():
		l.leave(key, w)
		return ctx.Err()
	case <-l.closed:
		l.leave(key, w)
		return ErrClosed
	}
}

// tooLate reports whether ctx will have ended before something can be.
func tooLate(ctx context.Context, after time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < after
}

// queueUp joins the line of a key, and returns how many tokens are wanted by it, with these.
func (l *Limiter) queueUp(key string, n int64) (*waiter, int64) {
	w := &waiter{n: n, served: make(chan error, 1)}
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	if l.lines.line == nil {
		l.lines.line = map[string]*line{}
	}
	q, served := l.lines.line[key]
	if !served {
		q = &line{changed: make(chan struct{}, 1)}
		l.lines.line[key] = q
		go l.serve(key, q)
	}
	q.queue = append(q.queue, w)
	ahead := int64(0)
	for _, other := range q.queue[:min(len(q.queue), mostAboard)] {
		ahead += other.n
	}
	return w, ahead
}

// leave takes somebody out of the line. What was granted to him at that moment is given back.
func (l *Limiter) leave(key string, w *waiter) {
	l.lines.mu.Lock()
	w.left = true
	if q := l.lines.line[key]; q != nil {
		select {
		case q.changed <- struct{}{}:
		default:
		}
	}
	l.lines.mu.Unlock()
	select {
	case err := <-w.served:
		if err == nil {
			_ = l.Return(context.Background(), key, w.n)
		}
	default:
	}
}

// serve serves a line until nobody is in it.
func (l *Limiter) serve(key string, q *line) {
	spare := int64(0) // granted, but to somebody who had left, or not enough for the next
	var next time.Time
	for {
		first, all := l.wanted(key, q)
		if first == 0 {
			if spare > 0 {
				_ = l.Return(context.Background(), key, spare)
			}
			return
		}
		if early := time.Until(next); early > 0 {
			q.await(early)
			continue
		}
		d, err := l.askFor(key, first-spare, all-spare)
		if err != nil {
			l.give(q, 0, err)
			continue
		}
		spare = l.give(q, spare+d.Granted, nil)
		next = time.Now().Add(d.RetryAfter)
	}
}

// askFor asks the store for those in line, unless what is spare is enough for the first.
func (l *Limiter) askFor(key string, first, all int64) (Decision, error) {
	if first <= 0 {
		return Decision{}, nil
	}
	limit := l.limitOf(key)
	if err := acceptable(limit, first); err != nil { // it was higher before
		return Decision{}, err
	}
	return l.ask(context.Background(), Request{Key: key, Limit: limit, Min: first, Max: all}, 1)
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

// wanted returns what the first in line wants, and what all want together. When nobody is in it any more the line ends.
func (l *Limiter) wanted(key string, q *line) (first, all int64) {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	q.tidy()
	if len(q.queue) == 0 {
		delete(l.lines.line, key)
		return 0, 0
	}
	for _, w := range q.queue[:min(len(q.queue), mostAboard)] {
		all += w.n
	}
	return q.queue[0].n, all
}

// tidy takes out who has left.
func (q *line) tidy() {
	stay := q.queue[:0]
	for _, w := range q.queue {
		if !w.left {
			stay = append(stay, w)
		}
	}
	clear(q.queue[len(stay):])
	q.queue = stay
}

// give serves those at the head of the line out of so many tokens, or tells the first of them an error, and returns what is left.
func (l *Limiter) give(q *line, n int64, err error) int64 {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	q.tidy()
	for len(q.queue) > 0 && (err != nil || q.queue[0].n <= n) {
		w := q.queue[0]
		q.queue = q.queue[1:]
		w.served <- err
		l.note(Decision{Allowed: err == nil, Granted: w.n}, err)
		if err != nil {
			return n
		}
		n -= w.n
	}
	return n
}
