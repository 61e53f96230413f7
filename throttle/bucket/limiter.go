package bucket

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/remote"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Limiter grants tokens out of buckets, one for each key. Make it with [New]. All methods are safe for concurrent use. To them a nil context is
// context.Background(). One that did not come from New answers with an error, and has nothing to tell.
type Limiter struct {
	config  Config
	memory  *MemoryStore          // the store, if it is in memory: it needs no timeout, and nobody is asked together
	guard   *remote.Guard         // before a store that is elsewhere
	limit   atomic.Pointer[Limit] // of keys that have no other
	share   *MemoryStore          // for LocalShare
	tally   *window.Window
	flights flights
	lines   lines
	waiting atomic.Int64
	asking  atomic.Int64
	panics  atomic.Uint64 // of which nobody else is told
	closed  chan struct{}
	closing atomic.Bool
}

// New returns a limiter, or an error that names every field that is wrong, and its range. It asks the store for nothing.
func New(c Config) (*Limiter, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if c.Store == nil {
		c.Store = NewMemoryStore()
	}
	l := &Limiter{
		config: c,
		guard:  remote.NewGuard(c.StoreTimeout, isCancelable(c.Store), isFailure),
		share:  NewMemoryStore(),
		tally:  window.New(window.Shape{Span: time.Second, Buckets: 1, Rows: 1}),
		closed: make(chan struct{}),
	}
	l.memory, _ = c.Store.(*MemoryStore)
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

// made reports whether l came from New.
func (l *Limiter) made() bool { return l != nil && l.tally != nil }

// sound returns the context to go on with, or the error of a limiter that cannot be asked.
func (l *Limiter) sound(ctx context.Context) (context.Context, error) {
	if !l.made() {
		return ctx, errNil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return ctx, nil
}

// Name returns the limiter's name.
func (l *Limiter) Name() string {
	if l == nil {
		return ""
	}
	return l.config.Name
}

// SetLimit changes the limit of all keys that have no other, or returns what is wrong with it. A bucket that was to be full at some time is so at
// that time still, though no later than an empty one would be; one whose algorithm changes begins full.
func (l *Limiter) SetLimit(limit Limit) error {
	if !l.made() {
		return errNil
	}
	if err := limit.Validate(); err != nil {
		return err
	}
	limit = limit.WithDefaults()
	l.limit.Store(&limit)
	l.lines.learnAll()
	return nil
}

// limitOf returns the limit of a key, which nobody changes.
func (l *Limiter) limitOf(key string) *Limit {
	if l.config.LimitFor == nil {
		return l.limit.Load()
	}
	return l.ownLimit(key)
}

// ownLimit returns the limit that a key has by itself, if it has one.
func (l *Limiter) ownLimit(key string) *Limit {
	own := l.config.LimitFor(key)
	if own == (Limit{}) || own.Validate() != nil {
		return l.limit.Load()
	}
	own = own.WithDefaults()
	return &own
}

// Close ends all Waits, with [ErrClosed], gives back what was fetched ahead, and ends the limiter's telemetry. Other requests are answered as
// before. It is idempotent. The store is the caller's to close.
func (l *Limiter) Close() error {
	if !l.made() || l.closing.Swap(true) {
		return nil
	}
	close(l.closed)
	l.flights.close(l)
	if h := l.config.Hooks.Closed; h != nil {
		h(l)
	}
	return nil
}
