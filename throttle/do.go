package throttle

import "context"

// Fallback serves a call that was shed (local is true), or whose function returned an error (local is false). It gets that
// error, without a [MarkRejected] mark, and what it returns is what the call returns.
type Fallback = func(ctx context.Context, err error, local bool) error

// FallbackOf is the [Fallback] of a call that returns a value.
type FallbackOf[T any] = func(ctx context.Context, err error, local bool) (T, error)

// Do calls fn, or sheds the call: then fn does not run and the error is one for which errors.Is(err, [ErrShed]) holds.
//
// The priority is p, unless ctx carries one. With a fallback, the first given, the call ends as the fallback does,
// whether it was shed or fn returned an error. A context that is already over returns its error before anything is
// decided or counted; so do a nil fn, a nil throttle, and a priority refused by Config.InvalidPriority. A nil ctx is
// context.Background().
//
// If fn panics, the call is [Ignored] and the panic goes on up.
func (t *Throttle) Do(ctx context.Context, p Priority, fn func(context.Context) error, fallback ...Fallback) error {
	ctx, err := sound(ctx, t, fn != nil)
	if err != nil {
		return err
	}
	var a attempt
	err = a.begin(ctx, t, p)
	defer a.abandon()
	if a.stage == running {
		if t.listens {
			a.announce()
		}
		err = a.settle(fn(a.ctx))
	}
	if err != nil && len(fallback) > 0 && fallback[0] != nil {
		if local, ok := a.fall(); ok {
			err = a.land(fallback[0](a.ctx, err, local))
		}
	}
	a.finish(err)
	return err
}

// Do is [Throttle.Do] for a function that returns a value. A shed call without a fallback returns the zero value.
func Do[T any](
	ctx context.Context, t *Throttle, p Priority, fn func(context.Context) (T, error), fallback ...FallbackOf[T],
) (value T, err error) {
	ctx, err = sound(ctx, t, fn != nil)
	if err != nil {
		return value, err
	}
	var a attempt
	err = a.begin(ctx, t, p)
	defer a.abandon()
	if a.stage == running {
		if t.listens {
			a.announce()
		}
		value, err = fn(a.ctx)
		err = a.settle(err)
	}
	if err != nil && len(fallback) > 0 && fallback[0] != nil {
		if local, ok := a.fall(); ok {
			value, err = fallback[0](a.ctx, err, local)
			err = a.land(err)
		}
	}
	a.finish(err)
	return value, err
}

// sound returns the context to go on with, or the error of a call that cannot be.
func sound(ctx context.Context, t *Throttle, function bool) (context.Context, error) {
	if !t.made() {
		return ctx, errNil
	}
	if !function {
		return ctx, errNoFunction
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return ctx, nil
}
