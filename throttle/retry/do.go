package retry

import (
	"context"

	"github.com/spillway-go/spillway/throttle"
)

// Do calls fn, and calls it again if the backend had no capacity and the budget allows it. Fn must be
// safe to call several times. The first attempt passes the throttle of the Retrier with
// priority p, or that of ctx. All retries pass it one priority lower. A nil ctx is
// context.Background().
//
// Do returns the error of the last attempt that was made. If the throttle shed the first attempt,
// errors.Is(err, [throttle.ErrShed]) is true and fn has not run.
//
// Do returns an error and counts nothing if the context has ended, fn is nil, or the Retrier is nil
// or zero. If fn panics, the panic continues and the call is not counted.
func (r *Retrier) Do(ctx context.Context, p throttle.Priority, fn func(context.Context) error) error {
	if !r.valid() {
		return errNil
	}
	if fn == nil {
		return errNoFunction
	}
	if ctx == nil {
		ctx = context.Background()
	}
	first := result{ctx: ctx}
	err := r.try(p, fn, &first)
	if err == nil {
		r.counters.accept()
		return nil
	}
	return r.rest(ctx, p, fn, first, 1, err)
}

// result is what an attempt leaves. The first attempt needs no more, and a Run is larger.
type result struct {
	ctx  context.Context // of the call, then of the attempt
	err  error           // of fn: it keeps a mark of throttle.MarkRejected
	made bool
}

// try makes an attempt, and returns the error for the caller.
func (r *Retrier) try(p throttle.Priority, fn func(context.Context) error, a *result) error {
	t := r.config.Throttle
	if t == nil {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		a.made = true
		a.err = fn(a.ctx)
		return a.err
	}
	return t.Do(a.ctx, p, func(ctx context.Context) error {
		a.made, a.ctx = true, ctx
		a.err = fn(ctx)
		return a.err
	})
}

// rest makes the attempts after the first ones, which were sent and ended with err.
func (r *Retrier) rest(ctx context.Context, p throttle.Priority, fn func(context.Context) error, a result, sent int, err error) error {
	run := r.Begin(ctx, p)
	if !a.made {
		run.refused(err)
		return err
	}
	run.current, run.err, run.number, run.sent = a.ctx, a.err, sent, sent
	for run.Again(Result{Err: run.err}) {
		a = result{ctx: run.current}
		next := r.try(run.priority, func(ctx context.Context) error {
			run.current = ctx
			run.begun(throttle.Call{}) // Do of the throttle ends the call
			return fn(ctx)
		}, &a)
		if !a.made {
			run.refused(next)
			break
		}
		run.err, err = a.err, next
	}
	return err
}

// Do is [Retrier.Do] for a function that returns a value. It returns the value of the last attempt.
func Do[T any](ctx context.Context, r *Retrier, p throttle.Priority, fn func(context.Context) (T, error)) (value T, err error) {
	if fn == nil {
		return value, errNoFunction
	}
	err = r.Do(ctx, p, func(ctx context.Context) (err error) {
		value, err = fn(ctx)
		return err
	})
	return value, err
}
