package bucket

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Limiter grants tokens out of buckets, one for each key. Make it with [New]. All methods are safe for concurrent use.
type Limiter struct {
	config  Config
	local   bool                  // the store is in memory: it needs no timeout, and nobody is asked together
	limit   atomic.Pointer[Limit] // of keys that have no other
	share   *MemoryStore          // for LocalShare
	tally   *window.Window
	flights flights
	lines   lines
	waiting atomic.Int64
	closed  chan struct{}
	closing sync.Once
}

// New returns a limiter, or an error that names every field that is wrong, and its range. It asks the store for nothing.
func New(c Config) (*Limiter, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Store == nil {
		c.Store = NewMemoryStore()
	}
	l := &Limiter{
		config: c,
		share:  NewMemoryStore(),
		tally:  window.New(window.Shape{Span: time.Second, Buckets: 1, Rows: 1}),
		closed: make(chan struct{}),
	}
	_, l.local = c.Store.(*MemoryStore)
	l.limit.Store(&c.Limit)
	if h := c.Hooks.Created; h != nil {
		h(l)
	}
	return l, nil
}

// Must returns the limiter, or panics with the error: for limiters that are made when the program starts.
func Must(l *Limiter, err error) *Limiter {
	if err != nil {
		panic(err)
	}
	return l
}

// Name returns the limiter's name.
func (l *Limiter) Name() string { return l.config.Name }

// SetLimit changes the limit of all keys that have no other, or returns what is wrong with it. What was taken before stays taken.
func (l *Limiter) SetLimit(limit Limit) error {
	if err := limit.Validate(); err != nil {
		return err
	}
	limit = limit.WithDefaults()
	l.limit.Store(&limit)
	return nil
}

// limitOf returns the limit of a key.
func (l *Limiter) limitOf(key string) Limit {
	if l.config.LimitFor != nil {
		if own := l.config.LimitFor(key); own != (Limit{}) && own.Validate() == nil {
			return own.WithDefaults()
		}
	}
	return *l.limit.Load()
}

// Allow asks for one token. A denial is no error: see [Decision].
func (l *Limiter) Allow(ctx context.Context, key string) (Decision, error) {
	return l.AllowN(ctx, key, 1)
}

// AllowN asks for n tokens, or none. No tokens are granted always, and tell how many there are.
func (l *Limiter) AllowN(ctx context.Context, key string, n int64) (Decision, error) {
	limit := l.limitOf(key)
	if err := acceptable(limit, n); err != nil {
		return Decision{Limit: limit.Capacity}, err
	}
	if n == 1 && !l.local && !l.config.OneByOne {
		return l.flights.take(ctx, l, key, limit)
	}
	return l.take(ctx, Request{Key: key, Limit: limit, Min: n, Max: n})
}

// AllowAtMost asks for up to n tokens, and at least one.
func (l *Limiter) AllowAtMost(ctx context.Context, key string, n int64) (Decision, error) {
	limit := l.limitOf(key)
	if n < 0 {
		return Decision{Limit: limit.Capacity}, ErrNegative
	}
	return l.take(ctx, Request{Key: key, Limit: limit, Min: min(n, 1), Max: n})
}

// Peek tells what there is, and takes nothing.
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	return l.AllowN(ctx, key, 0)
}

// acceptable says why n tokens can never be granted.
func acceptable(limit Limit, n int64) error {
	switch {
	case n < 0:
		return fmt.Errorf("%w: %d", ErrNegative, n)
	case n > limit.Capacity:
		return fmt.Errorf("%w: %d, and it holds %d", ErrExceedsCapacity, n, limit.Capacity)
	}
	return nil
}

// Return gives n tokens back that were not needed. It is of best effort.
func (l *Limiter) Return(ctx context.Context, key string, n int64) error {
	if n < 0 {
		return ErrNegative
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	return l.config.Store.Return(ctx, key, l.limitOf(key), n)
}

// Close ends all Waits, with [ErrClosed], and the limiter's telemetry. Other requests are answered as before. It is idempotent. The store is
// the caller's to close.
func (l *Limiter) Close() error {
	l.closing.Do(func() {
		close(l.closed)
		if h := l.config.Hooks.Closed; h != nil {
			h(l)
		}
	})
	return nil
}

// take asks for tokens, and counts what comes of it.
func (l *Limiter) take(ctx context.Context, r Request) (Decision, error) {
	d, err := l.ask(ctx, r, 1)
	if r.Max == 0 {
		return d, err
	}
	l.note(d, err)
	return d, err
}

// note counts one request.
func (l *Limiter) note(d Decision, err error) {
	switch {
	case errors.Is(err, ErrStore):
		l.count(failedClosed, 0)
	case err != nil:
	case d.Allowed && d.Source == FromPolicy:
		l.count(failedOpen, d.Granted)
	case d.Allowed:
		l.count(granted, d.Granted)
	default:
		l.count(denied, 0)
	}
}

// ask asks the store, or the policy if the store gives no answer in time.
func (l *Limiter) ask(ctx context.Context, r Request, requests int) (Decision, error) {
	if l.local {
		return l.config.Store.Take(ctx, r)
	}
	if err := ctx.Err(); err != nil {
		return Decision{Limit: r.Limit.Capacity}, err
	}
	bounded, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	begun := time.Now()
	d, err := l.config.Store.Take(bounded, r)
	if h := l.config.Hooks.Asked; h != nil {
		h(ctx, StoreEvent{Limiter: l, Duration: time.Since(begun), Requests: requests, Err: err})
	}
	switch {
	case err == nil:
		return d, nil
	case ctx.Err() != nil:
		return Decision{Limit: r.Limit.Capacity}, ctx.Err()
	}
	return l.decideAlone(ctx, r, err)
}

// decideAlone decides without the store, which has failed.
func (l *Limiter) decideAlone(ctx context.Context, r Request, why error) (Decision, error) {
	switch l.config.OnFailure {
	case FailClosed:
		return Decision{Limit: r.Limit.Capacity, Source: FromPolicy}, fmt.Errorf("%w: %w", ErrStore, why)
	case LocalShare:
		r.Limit = r.Limit.share(l.config.Replicas)
		r.Min = min(r.Min, r.Limit.Capacity) // of what is more than the share, the share
		d, err := l.share.Take(ctx, r)
		d.Source = FromPolicy
		return d, err
	}
	return Decision{Allowed: true, Granted: r.Max, Limit: r.Limit.Capacity, Source: FromPolicy}, nil
}
