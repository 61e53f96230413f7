package remote

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoAnswer is the error of [Await] if its context ends before the function returns.
var ErrNoAnswer = errors.New("no answer")

var errNoReturn = errors.New("the function ended its goroutine")

// Await runs f on a new goroutine and waits until f returns or ctx ends, even if f ignores ctx. A
// panic of f is an error. If ctx ends first, Await calls late with the result of f when f returns.
// Late may be nil.
func Await[T any](ctx context.Context, f func(context.Context) (T, error), late func(T, error)) (T, error) {
	return awaitFor(ctx, &Wait{}, f, late)
}

// awaitFor is Await for a time.
func awaitFor[T any](ctx context.Context, w *Wait, f func(context.Context) (T, error), late func(T, error)) (T, error) {
	results, left := make(chan result[T]), make(chan struct{})
	go runThen(ctx, f, func(r result[T]) {
		select {
		case results <- r:
		case <-left:
			if late != nil {
				late(r.value, r.err)
			}
		}
	})
	var cause error
	for cause == nil {
		select {
		case r := <-results:
			return r.value, r.err
		case <-ctx.Done():
			cause = context.Cause(ctx)
		case <-w.C:
			if w.Over(ctx) {
				cause = context.DeadlineExceeded
			}
		}
	}
	defer close(left)
	select {
	case r := <-results: // it came meanwhile
		return r.value, r.err
	default:
		return *new(T), fmt.Errorf("%w: %w", ErrNoAnswer, cause)
	}
}

type result[T any] struct {
	value T
	err   error
}

// runThen calls f, and end with its result, however f ends.
func runThen[T any](ctx context.Context, f func(context.Context) (T, error), end func(result[T])) {
	r := result[T]{err: errNoReturn}
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("panic: %v", p)
		}
		end(r)
	}()
	r.value, r.err = f(ctx)
}

// Run runs f on the caller's goroutine. A panic of f is an error.
func Run[T any](ctx context.Context, f func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f(ctx)
}
