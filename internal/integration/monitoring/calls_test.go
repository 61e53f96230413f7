package monitoring

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// errStrange is an error of no kind.
var errStrange = errors.New("strange")

// An ending is a way for a call to end.
type ending struct {
	err      error
	rejected bool // whatever the error
	panics   bool
}

// endings are one of every kind of error, those that the default takes for the backend's fault as they are, and one of each of the others too.
func endings() []ending {
	var all []ending
	for _, err := range []error{
		nil, faults.Unavailable(0), faults.ResourceExhausted(), context.DeadlineExceeded, context.Canceled, faults.Unauthenticated,
		faults.PermissionDenied, faults.Bad(), faults.Aborted(), faults.NotFound, faults.FailedPrecondition(), faults.Unimplemented,
		throttle.ErrShed, errStrange,
	} {
		all = append(all, ending{err: err})
		if err != nil {
			all = append(all, ending{err: err, rejected: true})
		}
	}
	return append(all, ending{panics: true})
}

// classify knows no more than the default does; it is there because services have one.
func classify(context.Context, error) (throttle.Outcome, bool) { return throttle.Accepted, false }

// function returns a function that ends so.
func (e ending) function() func(context.Context) error {
	return func(context.Context) error {
		switch {
		case e.panics:
			panic("of the test")
		case e.rejected:
			return throttle.RejectedError(fmt.Errorf("rejected: %w", e.err))
		}
		return e.err
	}
}

// doEverything makes calls that end in every way there is, most of them at High, first in earnest and then in Shadow. So many of them are
// rejected that the throttle sheds, or would. Then the breakers do, the token buckets and the backoffs.
func (i *instance) doEverything(t testing.TB, ctx context.Context) {
	t.Helper()
	for _, mode := range []throttle.Mode{throttle.Enforce, throttle.Shadow} {
		if err := i.hostile.Tune(func(u *throttle.Tuning) { u.Mode = mode }); err != nil {
			t.Errorf("Tune: got error %v want none", err)
		}
		for n, e := range endings() {
			i.call(ctx, i.hostile, throttle.High, e, i.fallback(n))
			i.call(ctx, i.hostile, throttle.Low, e, nil)
		}
	}
	for p := range throttle.Priority(throttle.StandardPriorities + 1) { // the last of which there is not
		i.call(ctx, i.dotted, p, ending{}, nil)
		i.call(ctx, i.dotted, p, ending{}, nil)
	}
	i.call(ctx, i.dotted, throttle.High, ending{err: faults.Unavailable(0)}, nil)
	i.fleet.doEverything(t, ctx)
	ctx, request := i.tracer.Start(ctx, "request")
	defer request.End()
	i.limits.doEverything(t, ctx)
	i.backoffs.doEverything(t, ctx)
}

// fallback returns one that serves, or fails with each of the kinds in turn.
func (i *instance) fallback(n int) throttle.Fallback {
	if n%2 == 0 {
		return func(context.Context, error, bool) error { return nil }
	}
	return func(context.Context, error, bool) error { return endings()[n].err }
}

// call makes a call within a request that is traced.
func (i *instance) call(ctx context.Context, th *throttle.Throttle, p throttle.Priority, e ending, fallback throttle.Fallback) {
	ctx, request := i.tracer.Start(ctx, "request")
	defer request.End()
	defer func() { _ = recover() }() // from the ending that panics
	var fallbacks []throttle.Fallback
	if fallback != nil {
		fallbacks = append(fallbacks, fallback)
	}
	_ = th.Do(ctx, p, e.function(), fallbacks...)
}
