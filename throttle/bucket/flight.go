package bucket

import (
	"context"
	"sync"
)

// mostAboard is how many requests are asked for together at most.
const mostAboard = 4096

// flights ask for one token each of many requests together: while the store is being asked for a bucket, whoever wants a token of it too
// waits, and is asked for with all who have come meanwhile.
type flights struct {
	mu   sync.Mutex
	next map[string]*flight // by key: who has come while the store is being asked. It is there, perhaps nil, as long as it is
}

// flight is a set of requests that are asked for together.
type flight struct {
	limit  Limit
	aboard int
	landed chan struct{}
	d      Decision
	err    error
}

// take asks for one token.
func (f *flights) take(ctx context.Context, l *Limiter, key string, limit Limit) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Limit: limit.Capacity}, err
	}
	mine, seat := f.board(l, key, limit)
	select {
	case <-mine.landed:
	case <-ctx.Done():
		return Decision{Limit: limit.Capacity}, ctx.Err()
	}
	d := mine.seat(seat)
	l.note(d, mine.err)
	return d, mine.err
}

// board finds a place on the next flight, which leaves at once if none is under way.
func (f *flights) board(l *Limiter, key string, limit Limit) (*flight, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = map[string]*flight{}
	}
	waiting, underWay := f.next[key]
	if waiting == nil || waiting.aboard >= mostAboard {
		waiting = &flight{landed: make(chan struct{})}
		if underWay {
			f.next[key] = waiting
		}
	}
	waiting.limit = limit
	waiting.aboard++
	seat := waiting.aboard - 1
	if !underWay {
		f.next[key] = nil
		go f.fly(l, key, waiting)
	}
	return waiting, seat
}

// fly asks for all who are aboard, and then for those who have come meanwhile.
func (f *flights) fly(l *Limiter, key string, now *flight) {
	for now != nil {
		n := int64(now.aboard)
		now.d, now.err = l.ask(context.Background(), Request{Key: key, Limit: now.limit, Min: 1, Max: n}, now.aboard)
		close(now.landed)
		f.mu.Lock()
		now = f.next[key]
		if f.next[key] = nil; now == nil {
			delete(f.next, key)
		}
		f.mu.Unlock()
	}
}

// seat is the decision about one of those aboard: the first to come are the first to be served.
func (f *flight) seat(n int) Decision {
	d := f.d
	d.Allowed = int64(n) < f.d.Granted
	d.Granted = 0
	if d.Allowed {
		d.Granted, d.RetryAfter = 1, 0
	}
	return d
}
