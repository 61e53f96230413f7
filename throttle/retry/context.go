package retry

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
)

// Attempt is what the context of an attempt carries.
type Attempt struct {
	// Number is 1 for the first attempt of a call, and outside of a Retrier.
	Number int
	// Previous is the context of the attempt before, for example to link their spans. It is nil for
	// a first attempt, and for an attempt of another process.
	Previous context.Context
	// Throttle is what this attempt passes. Calls that are made inside of the attempt have the same
	// Attempt in their context, and may pass another throttle.
	Throttle *throttle.Throttle
}

type attemptKey struct{}

// FromContext returns the attempt that ctx belongs to. On a server, its number is the one that the
// sender of the request has named.
func FromContext(ctx context.Context) Attempt {
	if a, ok := ctx.Value(attemptKey{}).(*Attempt); ok {
		return *a
	}
	return Attempt{Number: 1}
}

// WithAttempt returns a copy of ctx that belongs to attempt a. Servers use it for attempts that other
// processes have made.
func WithAttempt(ctx context.Context, a Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, &a)
}

type onceKey struct{}

// WithoutRetries returns a copy of ctx whose calls are not retried, because they must not be made
// twice, or because another layer retries them. They count for the budget.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, true)
}

func mustBeOnce(ctx context.Context) bool { return ctx.Value(onceKey{}) != nil }
