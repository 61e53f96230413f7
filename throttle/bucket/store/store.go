// Package store is the contract between package bucket and its stores. Read it to write a store.
// To limit calls, use package bucket: its types Limit and Decision are the types of this package.
//
// A store keeps one [Level] per key. [Level.Take] and [Level.Return] are the whole arithmetic: a
// store reads a level, applies one of them, and writes the result, in one atomic step. A store in
// another language, such as SQL or Lua, must compute the same results. Package storetest checks a
// store.
package store

import "context"

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
