package bucket

import "context"

// Store keeps the levels of buckets. All times are those of its own clock, and each method is one atomic step. A bucket that the store
// knows nothing of is full. All methods are safe for concurrent use, and return when their context ends, with an error.
type Store interface {
	// Take grants at least r.Min and at most r.Max tokens, or none: see [Level.Take]. A Max of 0 changes nothing. Who is denied is told when to
	// come again. A limiter takes an answer that is neither for a failure of the store.
	Take(ctx context.Context, r Request) (Decision, error)
	// Return gives tokens back that were not needed. A bucket never gets more than full.
	Return(ctx context.Context, key string, l Limit, n int64) error
	// Reset fills a bucket.
	Reset(ctx context.Context, key string) error
	// Close lets go of what the store made for itself, and leaves open what it was given.
	Close() error
}

// Prompt is a [Store] that knows whether its methods always return as soon as their context ends. One that does is asked on the goroutine of
// whoever asks. Others are asked on another, which is left behind if they do not, and which costs.
type Prompt interface {
	Store
	Prompt() bool
}

// Request asks for tokens.
type Request struct {
	Key      string // any bytes
	Limit    Limit  // valid, without zeros that mean a default
	Min, Max int64  // 0 <= Min <= Max, Min <= Limit.Capacity
}
