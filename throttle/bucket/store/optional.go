package store

import (
	"context"
	"errors"
)

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
	// time, and at most Config.MaxCalls. It collects further requests.
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
