package bucket

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Limiter limits how often events happen, per key. Each key has a bucket of tokens, and each event
// takes tokens from it. Make it with [New].
//
// Most callers should use [Limiter.Take], which does not wait, or [Limiter.Wait]. Both return a
// denial as an error. Use [Limiter.Decide] for RetryAfter and the tokens that are left, and
// [Limiter.Allow] for a plain bool.
//
// All methods are safe for concurrent use. A nil context is context.Background(). Methods of a nil
// or zero Limiter return an error or a zero value.
type Limiter struct {
	config  Config
	memory  *MemoryStore                      // the store, if it is in memory: it needs no timeout and no batches
	many    store.ManyTaker                   // the store, if it is one, and not OneByOne
	parted  store.Partitioned                 // the store, if it is one
	whole   *part                             // of a store that is not Partitioned
	parts   sync.Map                          // of a store that is, by name
	limit   tuned.Settings[ratedLimit, Patch] // of keys without a limit of their own
	share   *localShare                       // for LocalShare and FailOpen
	totals  *window.Window                    // counters only: no time passes in it
	queues  queues
	waiting atomic.Int64
	asking  atomic.Int64
	panics  atomic.Uint64 // that did not propagate to a caller

	checked atomic.Bool  // the settings of the store
	bound   atomic.Int64 // calls at the same time of a store.Bounded; 0 if the store is not one

	closed  chan struct{}
	closing atomic.Bool
}

// New returns a limiter, or an error that names each invalid field and its range. It does not call
// the store.
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
		share:  newLocalShare(&c),
		totals: window.New(window.Shape{Span: time.Second, Buckets: 1, Rows: 1}),
		closed: make(chan struct{}),
	}
	l.memory, _ = c.Store.(*MemoryStore)
	if !c.OneByOne {
		l.many, _ = c.Store.(store.ManyTaker)
	}
	l.parted, _ = c.Store.(store.Partitioned)
	l.whole = l.newPart()
	l.limit.Init(rated(c.Limit))
	if h := c.Hooks.Created; h != nil {
		h(l)
	}
	return l, nil
}

// Must returns the limiter, or panics if err is not nil. Use it for limiters that are created when
// the program starts: bucket.Must(bucket.New(c)).
func Must(l *Limiter, err error) *Limiter {
	if err != nil {
		panic(err)
	}
	return l
}

// valid reports whether l came from New.
func (l *Limiter) valid() bool { return l != nil && l.totals != nil }

// checkArgs returns the context to use, or the error of a limiter that did not come from New.
func (l *Limiter) checkArgs(ctx context.Context) (context.Context, error) {
	if !l.valid() {
		return ctx, errNil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return ctx, nil
}

// Name returns Config.Name, or "" for a nil Limiter.
func (l *Limiter) Name() string {
	if l == nil {
		return ""
	}
	return l.config.Name
}

// SetLimit changes the limit of all keys for which Config.LimitFor has no other. It returns an
// error if the limit is invalid. Fields that [Limiter.Override] has set change when the override
// ends.
//
// An existing bucket has as many tokens missing after the change as before, at most the new capacity. So
// if the new capacity is much higher, even an empty bucket grants most of it at once. In its first
// period a new Fixed limit may have up to one capacity more missing.
func (l *Limiter) SetLimit(limit Limit) error {
	if err := limit.Validate(); err != nil {
		return err
	}
	return l.retune(func() error { return l.limit.Set(rated(limit)) })
}

// limitOf returns the limit of a key. Callers must not change it.
func (l *Limiter) limitOf(key string) *ratedLimit {
	if l.config.LimitFor == nil {
		return l.limit.Load()
	}
	return l.keyLimit(key)
}

// keyLimit returns the limit from LimitFor, or the default limit if that is zero or invalid.
func (l *Limiter) keyLimit(key string) *ratedLimit {
	limit := l.config.LimitFor(key)
	if limit == (Limit{}) || limit.Validate() != nil {
		return l.limit.Load()
	}
	withRate := rated(limit)
	return &withRate
}

// recoverLimitOf is limitOf on a goroutine of the limiter, where a panic of LimitFor would end the
// process. It returns the panic as a *limitPanicError.
func (l *Limiter) recoverLimitOf(key string) (limit *Limit, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &limitPanicError{value}
		}
	}()
	return &l.limitOf(key).Limit, nil
}

// limitPanicError is a panic of LimitFor on a goroutine of the limiter. Wait panics with its
// value.
type limitPanicError struct{ value any }

func (p *limitPanicError) Error() string {
	return fmt.Sprintf("bucket: panic of Config.LimitFor: %v", p.value)
}

// Close ends all calls of [Limiter.Wait] with [ErrClosed], gives back tokens that were fetched
// ahead, and calls Hooks.Closed. Afterwards Wait returns ErrClosed at once. All other methods, such
// as Take, still work and call hooks. Close does not close the store. A second Close does nothing.
// Tokens that the store does not take back within Config.StoreTimeout count as taken.
func (l *Limiter) Close() error {
	if !l.valid() || l.closing.Swap(true) {
		return nil
	}
	close(l.closed)
	l.closeLeases()
	if h := l.config.Hooks.Closed; h != nil {
		h(l)
	}
	return nil
}
