package backoff

import (
	"context"
	"sync/atomic"
	"time"
)

// Permit allows one call. Report the result of the call with Done or Finish: only the first counts,
// of all copies of a permit. Without it the call is not counted and has no other effect. Methods of
// the zero Permit do nothing.
type Permit struct {
	responsive *Responsive
	state      *permitState
	use        uint64
	generation uint64 // of the delay that the call waited for
}

// permitState records whether a permit is done. States are pooled: uses grows with each Finish, so
// that a copy of an older permit no longer matches.
type permitState struct{ uses atomic.Uint64 }

func (r *Responsive) newPermit(generation uint64) Permit {
	s := r.permits.Get().(*permitState)
	return Permit{r, s, s.uses.Load(), generation}
}

// Done ends the call with its error, which Config.Classify and [Classify] classify. Nil is a success.
func (p Permit) Done(err error) {
	if p.responsive != nil {
		p.Finish(p.responsive.config.classify(err))
	}
}

// Finish ends the call with an outcome.
func (p Permit) Finish(o Outcome) {
	if p.responsive == nil || !p.state.uses.CompareAndSwap(p.use, p.use+1) {
		return
	}
	p.responsive.permits.Put(p.state)
	p.responsive.record(p.generation, o)
}

// record counts the outcome of a call that waited for the delay of a generation, and makes a step
// if it is time.
func (r *Responsive) record(generation uint64, o Outcome) {
	r.mu.Lock()
	r.stats.record(o)
	if o == Success && r.delay.interval == 0 {
		r.delay.succeeded(generation)
		r.mu.Unlock()
		return
	}
	now := time.Now()
	step := r.beginStep()
	r.touch(now)
	switch {
	case o == Success:
		r.delay.succeeded(generation)
	case o.IsThrottled():
		r.retryAfter(now, o.RetryAfter())
		r.delay.throttled(generation)
	}
	r.endStep(&step)
	r.mu.Unlock()
	r.callStepped(step)
}

// retryAfter delays all calls by d, at most MaxInterval. The caller holds the lock.
func (r *Responsive) retryAfter(now time.Time, d time.Duration) {
	if d == 0 {
		return
	}
	at := now.Add(min(d, r.config.MaxInterval))
	if at.After(r.retryAt) {
		r.retryAt = at
		r.queue.wakeFirst()
	}
}

// Do waits for the caller's turn, calls f, and records the outcome of the error of f, as
// [Permit.Done] does. It returns that error. If the wait fails, Do returns the error of
// [Responsive.Wait] and does not call f. A panic of f propagates, and the call is Ignored.
func (r *Responsive) Do(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return errNoFunction
	}
	p, err := r.Wait(ctx)
	if err != nil {
		return err
	}
	o := Ignored
	defer func() { p.Finish(o) }()
	if ctx == nil {
		ctx = context.Background()
	}
	err = f(ctx)
	o = r.config.classify(err)
	return err
}

// Do is [Responsive.Do] for a function that returns a value.
func Do[T any](ctx context.Context, r *Responsive, f func(context.Context) (T, error)) (value T, err error) {
	if f == nil {
		return value, errNoFunction
	}
	err = r.Do(ctx, func(ctx context.Context) error {
		value, err = f(ctx)
		return err
	})
	return value, err
}
