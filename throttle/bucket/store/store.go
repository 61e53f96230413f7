// Package store is the contract between package bucket and its stores. Read it to write a store.
// To limit calls, use package bucket: its types Limit and Decision are the types of this package.
//
// A store keeps one [Level] per key. [Level.Take] and [Level.Return] are the whole arithmetic: a
// store reads a level, applies one of them, and writes the result, in one atomic step. A store in
// another language, such as SQL or Lua, must compute the same results. Package storetest checks a
// store.
package store

import (
	"context"
	"errors"
)

// Store keeps the levels of buckets. Each method is one atomic step and uses the store's own
// clock. A bucket without a stored level is full. All methods must be safe for concurrent use, and
// must return an error when their context ends.
type Store interface {
	// Take grants at least r.Min and at most r.Max tokens, or denies the request: see
	// [Level.Take]. If r.Max is 0, it changes nothing. If it denies, Decision.RetryAfter must be
	// positive. The limiter treats a decision that breaks these rules as a failure of the store.
	Take(ctx context.Context, r Request) (Decision, error)
	// Return gives back tokens that were not used. A bucket never holds more than its capacity.
	Return(ctx context.Context, key string, l Limit, n int64) error
	// Reset fills a bucket.
	Reset(ctx context.Context, key string) error
	// Close releases what the store created. It does not close a client or database that the store
	// was given.
	Close() error
}

// Cancelable is a [Store] whose methods may return as soon as their context ends. If Cancelable
// returns true, a limiter calls the store on the goroutine of its caller, as long as the store answers
// fast. It calls any other store on a new goroutine, which is slower, and stops waiting for that
// goroutine after Config.StoreTimeout.
type Cancelable interface {
	Store
	// Cancelable reports whether all methods always return as soon as their context ends.
	Cancelable() bool
}

// Request is a request for tokens.
type Request struct {
	Key      string // any bytes
	Limit    Limit  // valid, with defaults filled in
	Min, Max int64  // 0 <= Min <= Max, Min <= Limit.Capacity
}

// ErrNotSent means that a store did not send a request, for example because all connections of a
// pool were in use until the context ended. Then the store returns an error that wraps it.
// The limiter does not count it as a failure of the store.
var ErrNotSent = errors.New("the request was not sent to the store")

// ManyTaker is a [Store] that takes the tokens of several buckets in one round trip. While calls are in
// flight, a limiter collects further requests and sends them together.
type ManyTaker interface {
	Store
	// TakeMany makes all requests, each as Take does. It returns one answer for each, in the same
	// order.
	TakeMany(ctx context.Context, rs []Request) []Answer
}

// Answer is the result of one request of [ManyTaker].
type Answer struct {
	Decision Decision
	Err      error // if not nil, Decision has no meaning
}

// Bounded is a [Store] that makes a limited number of calls at the same time, such as one for each
// connection of a pool.
type Bounded interface {
	Store
	// MaxCalls returns that number. A limiter makes at most that many calls of a [ManyTaker] at the same
	// time, and at most Config.MaxCalls. It collects further requests. It asks before the first request only.
	MaxCalls() int
}

// Partitioned is a [Store] with parts that fail one by one, such as the nodes of a cluster. If a part
// fails, a limiter still calls the store for the keys of all other parts.
type Partitioned interface {
	Store
	// Part returns the name of the part with a key, such as the address of a node. It must return
	// quickly, and the names must be few. An empty name is a part too.
	Part(key string) string
}

// Warmer is a [Store] that can prepare for requests. Limiter.Warm calls it.
type Warmer interface {
	Store
	// Warm opens connections, and loads what requests need.
	Warm(ctx context.Context) error
}

// Checker is a [Store] that finds settings with which it does not work well. A limiter calls it
// once, before the first request.
type Checker interface {
	Store
	// Check returns an error that names a setting and a better value, or nil.
	Check() error
}
