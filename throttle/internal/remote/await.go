package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	c := call[T]{done: make(chan struct{})}
	go c.run(ctx, f, late)
	var cause error
	for cause == nil {
		select {
		case <-c.done:
			return c.value, c.err
		case <-ctx.Done():
			cause = context.Cause(ctx)
		case <-w.C:
			if w.Over(ctx) {
				cause = context.DeadlineExceeded
			}
		}
	}
	if c.abandon() {
		var zero T
		return zero, fmt.Errorf("%w: %w", ErrNoAnswer, cause)
	}
	return c.value, c.err
}

// call is one run of a function by Await.
type call[T any] struct {
	done  chan struct{}
	value T
	err   error

	mu        sync.Mutex
	returned  bool // before Await gave up
	abandoned bool // Await has returned without the result
}

func (c *call[T]) run(ctx context.Context, f func(context.Context) (T, error), late func(T, error)) {
	err := errNoReturn
	var value T
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		if !c.finish(value, err) && late != nil {
			late(value, err)
		}
	}()
	value, err = f(ctx)
}

// finish passes the result to Await, and reports whether Await still waits.
func (c *call[T]) finish(value T, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned {
		return false
	}
	c.value, c.err, c.returned = value, err, true
	close(c.done)
	return true
}

// abandon stops waiting, and reports false if the result has arrived meanwhile.
func (c *call[T]) abandon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = !c.returned
	return c.abandoned
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
