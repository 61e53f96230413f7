package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrNoAnswer means that nobody waits for a function any more, which runs still.
var ErrNoAnswer = errors.New("no answer")

var errNoReturn = errors.New("the function ended its goroutine")

// Await runs f and waits for it until ctx ends, also if f does not heed ctx. A panic of f is an error. If nobody waits for f any more when it
// ends, late is told of what it returns.
func Await[T any](ctx context.Context, f func(context.Context) (T, error), late func(T, error)) (T, error) {
	e := errand[T]{ended: make(chan struct{})}
	go e.run(ctx, f, late)
	select {
	case <-e.ended:
	case <-ctx.Done():
		if e.abandon() {
			var none T
			return none, fmt.Errorf("%w: %w", ErrNoAnswer, context.Cause(ctx))
		}
	}
	return e.value, e.err
}

// errand is a run of a function that somebody waits for, or no longer.
type errand[T any] struct {
	ended chan struct{}
	value T
	err   error

	mu        sync.Mutex
	over      bool // it came in time
	abandoned bool
}

func (e *errand[T]) run(ctx context.Context, f func(context.Context) (T, error), late func(T, error)) {
	err := errNoReturn
	var value T
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		if !e.bring(value, err) && late != nil {
			late(value, err)
		}
	}()
	value, err = f(ctx)
}

// bring brings what f has returned, if anybody waits for it.
func (e *errand[T]) bring(value T, err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.abandoned {
		return false
	}
	e.value, e.err, e.over = value, err, true
	close(e.ended)
	return true
}

// abandon stops waiting, unless f has come back at the last moment.
func (e *errand[T]) abandon() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abandoned = !e.over
	return e.abandoned
}

// Run runs f on this goroutine. A panic of f is an error.
func Run[T any](ctx context.Context, f func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f(ctx)
}
