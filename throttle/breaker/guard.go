package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	failuresToRest = 3 // in a row
	shortestRest   = 250 * time.Millisecond
	longestRest    = time.Second // so that a store that has come back is asked soon
	mostAbandoned  = 64          // calls to the store that nobody waits for any more
)

var errResting = errors.New("breaker: the store has failed, and is not asked for a while")

// guard stands before the store: it waits for no call longer than the timeout, also if the store ignores its context, and after
// some failures in a row it leaves the store alone for a while, which doubles.
type guard struct {
	manager *Manager
	store   Store
	timeout time.Duration

	mu        sync.Mutex
	failures  int // in a row
	rest      time.Duration
	until     time.Time
	abandoned int
}

func newGuard(m *Manager, s Store) *guard {
	return &guard{manager: m, store: s, timeout: m.config.StoreTimeout}
}

// ask makes one call to the store.
func ask[T any](ctx context.Context, g *guard, call func(context.Context, Store) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	if err := g.enter(); err != nil {
		return zero, err
	}
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	var c errand
	answer, err := await(bounded, func(ctx context.Context) (T, error) { return call(ctx, g.store) }, func() { g.returned(&c) })
	g.left(&c)
	if ctx.Err() != nil {
		return answer, err // whoever asked has left; it says nothing about the store
	}
	g.note(err)
	return answer, err
}

// enter refuses to ask a store that rests, or that has not come back from too many calls.
func (g *guard) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned >= mostAbandoned || time.Now().Before(g.until) {
		return errResting
	}
	return nil
}

// errand is one call to the store: whether it has come back, and whether anybody waits for it.
type errand struct{ returned, left bool }

// returned notes that a call has come back, however late.
func (g *guard) returned(c *errand) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.returned = true
	if c.left {
		g.abandoned--
	}
}

// left notes that nobody waits for a call any more, which may have come back.
func (g *guard) left(c *errand) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.left = true
	if !c.returned {
		g.abandoned++
	}
}

// note notes how a call ended, and tells of a failure.
func (g *guard) note(err error) {
	failed := err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrFenced)
	g.mu.Lock()
	switch {
	case !failed:
		g.failures, g.rest = 0, 0
	case g.failures+1 < failuresToRest:
		g.failures++
	default:
		g.rest = min(max(2*g.rest, shortestRest), longestRest)
		g.until = time.Now().Add(g.rest)
	}
	g.mu.Unlock()
	if failed {
		g.manager.fail(StoreFailed, err)
	}
}

// await runs f and waits for it until ctx ends, also if f does not heed ctx. A panic of f is an error. At the end of f, which may come
// later, left is called.
func await[T any](ctx context.Context, f func(context.Context) (T, error), left func()) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: errNoReturn}
		defer func() {
			if r := recover(); r != nil {
				a.err = fmt.Errorf("breaker: panic: %v", r)
			}
			left()
			answered <- a
		}()
		a.value, a.err = f(ctx)
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	}
	select { // an answer that came at the last moment is one
	case a := <-answered:
		return a.value, a.err
	default:
		var zero T
		return zero, fmt.Errorf("breaker: no answer: %w", context.Cause(ctx))
	}
}

var errNoReturn = errors.New("breaker: the function ended its goroutine")

// guarded runs f on this goroutine. A panic is an error.
func (m *Manager) guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("breaker: panic: %v", r)
		}
	}()
	return f()
}
