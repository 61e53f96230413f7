package bucket

import (
	"context"
	"slices"
	"sync"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// flights ask for one token each of many requests together: while the store is being asked for a bucket, whoever wants a token of it too
// waits, and is asked for with all who have come meanwhile.
type flights struct {
	mu     sync.Mutex
	routes map[string]*route // by key, as long as there is something to know of it
	closed bool
}

// route is what is known of one bucket.
type route struct {
	underWay bool    // the store is being asked
	next     *flight // who has come meanwhile
	lease    lease
}

// flight is a set of requests that are asked for together.
type flight struct {
	limit  *Limit
	aboard int
	behind []int // seats of those who have left before it took off
	gone   []int // of those who have left before it landed
	landed chan struct{}
	down   bool // it has landed: for those who hold the lock
	d      Decision
	err    error
}

// take asks for one token.
func (f *flights) take(ctx context.Context, l *Limiter, key string, limit *Limit) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Limit: limit.Capacity}, err
	}
	b := f.board(key, limit)
	switch {
	case b.known:
		return b.d, nil
	case b.first:
		f.flyAlone(ctx, l, key, b.route, b.flight)
	default:
		select {
		case <-b.flight.landed:
		case <-ctx.Done():
			if f.leave(b.flight, b.seat) {
				return Decision{Limit: limit.Capacity}, ctx.Err()
			}
		}
	}
	return b.flight.seat(b.seat), b.flight.err
}

// boarding is a place on a flight, or the decision if that is known without the store.
type boarding struct {
	known  bool
	d      Decision
	route  *route
	flight *flight
	seat   int
	first  bool // it leaves at once, with nobody else
}

// board finds a place on the next flight, which leaves at once if none is under way.
func (f *flights) board(key string, limit *Limit) boarding {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.route(key)
	if d, known := r.lease.decide(limit); known {
		return boarding{known: true, d: d}
	}
	if !r.underWay {
		r.underWay = true
		return boarding{route: r, flight: &flight{limit: limit, aboard: 1}, first: true}
	}
	if r.next == nil {
		r.next = &flight{landed: make(chan struct{})}
	}
	mine := r.next
	mine.limit = limit
	mine.aboard++
	return boarding{route: r, flight: mine, seat: mine.aboard - 1}
}

// route returns what is known of a bucket.
func (f *flights) route(key string) *route {
	if f.routes == nil {
		f.routes = map[string]*route{}
	}
	r := f.routes[key]
	if r == nil {
		r = &route{}
		f.routes[key] = r
	}
	return r
}

// leave gives a seat up, unless the flight has landed.
func (f *flights) leave(mine *flight, seat int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !mine.down {
		mine.gone = append(mine.gone, seat)
	}
	return !mine.down
}

// flyAlone asks for somebody who is alone, on his goroutine and with his context. Those who have come meanwhile are asked for on another.
func (f *flights) flyAlone(ctx context.Context, l *Limiter, key string, r *route, mine *flight) {
	defer func() { // also if a hook panics
		if next := f.land(l, key, r, mine); next != nil {
			go f.fly(l, key, r, next)
		}
	}()
	f.ask(ctx, l, key, r, mine, false)
}

// fly asks for all who are aboard, and then for those who have come meanwhile.
func (f *flights) fly(l *Limiter, key string, r *route, now *flight) {
	for now != nil {
		f.ask(context.Background(), l, key, r, now, true)
		now = f.land(l, key, r, now)
	}
}

// ask asks for those who are aboard, on a goroutine of the limiter's own or not.
func (f *flights) ask(ctx context.Context, l *Limiter, key string, r *route, now *flight, own bool) {
	f.mu.Lock()
	n, ahead := now.takeOff(), f.wish(l, r, now.limit)
	f.mu.Unlock()
	if n > 0 {
		q := question{store.Request{Key: key, Limit: *now.limit, Min: 1, Max: n + ahead}, int(n), ahead, own}
		now.d, now.err = l.ask(ctx, q)
	}
}

// takeOff leaves those behind who have left already, and returns how many are aboard.
func (f *flight) takeOff() int64 {
	f.behind, f.gone = f.gone, nil
	slices.Sort(f.behind)
	return int64(f.aboard - len(f.behind))
}

// rank is how many were before somebody who is aboard.
func (f *flight) rank(seat int) int64 {
	before, _ := slices.BinarySearch(f.behind, seat)
	return int64(seat - before)
}

// land tells those who are aboard, and returns the next flight. What nobody is there to take is kept for the next, or given back.
func (f *flights) land(l *Limiter, key string, r *route, now *flight) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	now.down = true
	if now.landed != nil {
		close(now.landed)
	}
	if spare := f.keep(l, key, r, now.limit, now.spare(), now.d.ResetAfter); spare > 0 {
		go l.giveBack(context.Background(), key, spare)
	}
	f.remember(l, key, r, now)
	next := r.next
	r.next, r.underWay = nil, next != nil
	f.forget(key, r)
	return next
}

// forget drops what is known of a bucket if it is nothing.
func (f *flights) forget(key string, r *route) {
	if !r.underWay && !r.lease.armed && f.routes[key] == r {
		delete(f.routes, key)
	}
}

// spare is how many tokens of the store's nobody is there to take.
func (f *flight) spare() int64 {
	if f.err != nil || f.d.Source != SourceStore {
		return 0
	}
	spare := max(0, f.d.Granted-int64(f.aboard-len(f.behind)))
	for _, seat := range f.gone {
		if f.rank(seat) < f.d.Granted {
			spare++
		}
	}
	return spare
}

// seat is the decision about one of those aboard: the first to come are the first to be served.
func (f *flight) seat(n int) Decision {
	d := f.d
	d.Allowed = f.rank(n) < f.d.Granted
	d.Granted = 0
	if d.Allowed {
		d.Granted, d.RetryAfter = 1, 0
	}
	return d
}
