package backoff

import (
	"context"
	"sync/atomic"
	"time"
)

// This file holds methods for drop-in use: those of a sleeper that Responsive replaces
// (SleepOnFailure, SleepOnSuccess), and of cenkalti/backoff (BackOff). New code uses Wait and Do.

// SleepOnFailure records a call that was throttled, and waits before the next call. If several
// workers call it for one overload, only the first makes the delay longer. The next step up is
// possible after a worker has waited the new delay. A call whose context has ended is recorded too: that may
// be why it was throttled.
//
// It and [Responsive.SleepOnSuccess] are for drop-in use in code that calls one of them after each
// call. New code uses [Responsive.Do] or [Responsive.Wait].
func (r *Responsive) SleepOnFailure(ctx context.Context) error {
	ctx, err := r.checkArgs(ctx)
	if !r.valid() {
		return err
	}
	now := time.Now()
	r.resetIdle(now) // a step of its own
	r.update(func() {
		r.stats.record(Throttled)
		r.touch(now)
		if r.delay.interval == 0 || r.delaySlept {
			r.delay.throttled(r.delay.generation)
			r.delaySlept = false
		}
	})
	return r.sleepOn(ctx)
}

// SleepOnSuccess records a call that succeeded, and waits before the next call if there is a delay.
// It is for drop-in use: see [Responsive.SleepOnFailure].
func (r *Responsive) SleepOnSuccess(ctx context.Context) error {
	ctx, err := r.checkArgs(ctx)
	if !r.valid() {
		return err
	}
	step := r.update(func() {
		r.stats.record(Success)
		r.delay.succeeded(r.delay.generation)
	})
	if step.To == 0 {
		return err
	}
	return r.sleepOn(ctx)
}

// sleepOn waits, and records that a worker has waited the present delay.
func (r *Responsive) sleepOn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	generation, err := r.wait(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if generation == r.delay.generation {
		r.delaySlept = true
	}
	return nil
}

// BackOff adapts a [Responsive] to libraries that retry and request the delay before each attempt,
// such as cenkalti/backoff, whose interface BackOff it implements. Create one per operation with
// [Responsive.BackOff]; all of them share the delay of the Responsive.
type BackOff struct {
	responsive *Responsive
	generation atomic.Uint64 // of the delay before the present attempt
}

// BackOff returns a BackOff for one operation.
func (r *Responsive) BackOff() *BackOff {
	b := &BackOff{responsive: r}
	b.Reset()
	return b
}

// NextBackOff records that the last attempt was throttled, and returns how long to wait before the
// next. A later change of the delay does not change the returned duration.
func (b *BackOff) NextBackOff() time.Duration {
	if !b.valid() {
		return 0
	}
	now := time.Now()
	if b.responsive.resetIdle(now) {
		b.Reset()
	}
	b.responsive.record(b.generation.Load(), Throttled)
	d, generation := b.responsive.reserve(now)
	b.generation.Store(generation)
	return d
}

// Reset begins an operation.
func (b *BackOff) Reset() {
	if b.valid() {
		b.responsive.resetIdle(time.Now())
		b.generation.Store(b.responsive.generation())
	}
}

// Succeeded records that the operation succeeded. Retrying libraries do not report successes: if
// Succeeded is not called, only Config.IdleReset makes the delay shorter.
func (b *BackOff) Succeeded() {
	if b.valid() {
		b.responsive.record(b.generation.Load(), Success)
	}
}

func (b *BackOff) valid() bool { return b != nil && b.responsive.valid() }
