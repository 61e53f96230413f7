package backoff

import (
	"context"
	"sync/atomic"
	"time"
)

// Permit is the right to make one call. Tell with Done what became of it. A permit that is never done harms nobody. The zero Permit does nothing.
type Permit struct {
	responsive *Responsive
	slip       *slip
	number     uint64
	generation uint64
}

// slip knows whether a permit is done, without costing memory for each.
type slip struct{ number atomic.Uint64 }

// permit makes a permit.
func (r *Responsive) permit(generation uint64) Permit {
	s := r.slips.Get().(*slip)
	return Permit{r, s, s.number.Load(), generation}
}

// Done tells what became of the call. Only the first time counts, of all copies of a permit.
func (p Permit) Done(o Outcome) {
	if p.responsive == nil || !p.slip.number.CompareAndSwap(p.number, p.number+1) {
		return
	}
	p.responsive.slips.Put(p.slip)
	p.responsive.done(p.generation, o)
}

// done takes notice of a call.
func (r *Responsive) done(generation uint64, o Outcome) {
	r.mu.Lock()
	r.tally.count(o)
	if o == Success && r.dial.interval == 0 {
		r.dial.succeeded(generation)
		r.mu.Unlock()
		return
	}
	now := time.Now()
	step := r.begin()
	r.touch(now)
	switch {
	case o == Success:
		r.dial.succeeded(generation)
	case o.IsThrottled():
		r.wantNone(now, o)
		r.dial.throttled(generation)
	}
	r.end(&step)
	r.mu.Unlock()
	r.tell(step)
}

// wantNone notes that the service wants no call for a while, if it has said so.
func (r *Responsive) wantNone(now time.Time, o Outcome) {
	if o.RetryAfter() == 0 {
		return
	}
	until := now.Add(min(o.RetryAfter(), r.config.MaxInterval))
	if until.After(r.floor) {
		r.floor = until
		r.line.wakeFirst()
	}
}

// Do waits for the caller's turn, calls f, and tells what became of it: what Config.Classify makes of f's error. A panic goes on up, and the call is
// ignored. If the turn does not come, f is not called, and the error is that of [Responsive.Wait].
func (r *Responsive) Do(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return errNoFunction
	}
	p, err := r.Wait(ctx)
	if err != nil {
		return err
	}
	o := Ignored
	defer func() { p.Done(o) }()
	if ctx == nil {
		ctx = context.Background()
	}
	err = f(ctx)
	o = r.config.Classify(err)
	return err
}

// Do is [Responsive.Do] for a function that returns a value. What became of the call is what classify makes of f's error, nil included, or
// Config.Classify if classify is nil.
func Do[T any](ctx context.Context, r *Responsive, classify func(error) Outcome, f func(context.Context) (T, error)) (value T, err error) {
	if f == nil {
		return value, errNoFunction
	}
	p, err := r.Wait(ctx)
	if err != nil {
		return value, err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if classify == nil {
		classify = r.config.Classify
	}
	o := Ignored
	defer func() { p.Done(o) }()
	value, err = f(ctx)
	o = classify(err)
	return value, err
}
