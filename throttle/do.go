package throttle

import "context"

// Fallback handles a call that was shed (local is true) or whose function returned an error (local
// is false), ordinary errors included. Err is that error, without the mark of [MarkRejected]. The
// call returns the result of the fallback.
type Fallback = func(ctx context.Context, err error, local bool) error

// Do calls fn, or sheds the call. If it sheds the call, fn does not run and errors.Is(err,
// [ErrShed]) is true for the error.
//
// The priority is p, unless ctx carries one: inside a request of a server middleware, the priority
// of the request applies. To set another one, use [WithPriority]. A nil ctx is
// context.Background().
//
// With a fallback, Do returns the result of the fallback if the call was shed or fn returned an
// error. Fallback is variadic to be optional: only the first is used.
//
// For a shed call, Do counts it, calls Hooks.Shed, runs the fallback, calls Hooks.FellBack, and
// returns. Hooks.Started and Hooks.Finished are not called.
//
// Do returns an error and counts nothing if
//   - the context has ended,
//   - fn is nil,
//   - the throttle is nil or zero, or
//   - Config.InvalidPriority returns an error.
//
// If fn panics, the call is [Ignored] and the panic continues.
func (t *Throttle) Do(ctx context.Context, p Priority, fn func(context.Context) error, fallback ...Fallback) error {
	ctx, err := checkArgs(ctx, t, fn != nil)
	if err != nil {
		return err
	}
	var a attempt
	err = a.begin(ctx, t, p, nil)
	defer a.endAbandoned()
	if a.stage == running {
		if t.hasCallHooks {
			a.callStarted()
		}
		err = a.recordReturn(fn(a.ctx))
	}
	if err != nil && len(fallback) > 0 {
		err = a.fallBack(err, fallback[0])
	}
	a.finish(err)
	return err
}

// fallBack calls the fallback of a call that ended with err, if it has one. It returns the error of the call.
func (a *attempt) fallBack(err error, fallback Fallback) error {
	if fallback == nil {
		return err
	}
	local, ok := a.beginFallback()
	if !ok {
		return err
	}
	return a.endFallback(fallback(a.ctx, err, local))
}

// Do is [Throttle.Do] for a function that returns a value. A shed call without a fallback returns the zero value.
func Do[T any](
	ctx context.Context, t *Throttle, p Priority, fn func(context.Context) (T, error),
	fallback ...func(ctx context.Context, err error, local bool) (T, error),
) (value T, err error) {
	ctx, err = checkArgs(ctx, t, fn != nil)
	if err != nil {
		return value, err
	}
	var a attempt
	err = a.begin(ctx, t, p, nil)
	defer a.endAbandoned()
	if a.stage == running {
		if t.hasCallHooks {
			a.callStarted()
		}
		value, err = fn(a.ctx)
		err = a.recordReturn(err)
	}
	if err != nil && len(fallback) > 0 && fallback[0] != nil {
		if local, ok := a.beginFallback(); ok {
			value, err = fallback[0](a.ctx, err, local)
			err = a.endFallback(err)
		}
	}
	a.finish(err)
	return value, err
}

// checkArgs returns the context to use, or the error of a call that cannot be made.
func checkArgs(ctx context.Context, t *Throttle, function bool) (context.Context, error) {
	if !t.valid() {
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
