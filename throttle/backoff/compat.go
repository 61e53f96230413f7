package backoff

import (
	"context"
	"sync/atomic"
	"time"
)

// This file holds the methods of other libraries' interfaces: those of the sleeper that Responsive
// replaces (GetMetrics, SleepOnFailure, SleepOnSuccess) and of cenkalti/backoff (BackOff). New code
// uses Wait, Do and Stats.

// Metrics are the counters of [Responsive.GetMetrics]. [Stats] has more.
type Metrics struct {
	TotalInvocation uint64        // calls of SleepOnFailure and SleepOnSuccess
	TotalWentUp     uint64        // steps up
	TotalWentDown   uint64        // steps down
	TotalSlept      uint64        // waits that did not end at once
	TotalSleepTime  time.Duration // time waited, also in waits that were canceled
}

// GetMetrics returns the counters of a sleeper. New code uses [Responsive.Stats].
func (r *Responsive) GetMetrics() Metrics {
	if !r.made() {
		return Metrics{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats()
	return Metrics{TotalInvocation: r.tally.invocations, TotalWentUp: s.Ups, TotalWentDown: s.Downs, TotalSlept: s.Slept, TotalSleepTime: s.SleepTime}
}

// SleepOnFailure records a call that was throttled, and waits before the next call. If several
// workers call it for one overload, only the first makes the delay longer. The next step up is
// possible after a worker has waited the new delay. New code uses [Responsive.Wait].
func (r *Responsive) SleepOnFailure(ctx context.Context) error {
	ctx, err := r.sound(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	r.forgotten(now) // a step of its own
	r.change(func() {
		r.tally.invocations++
		r.tally.count(Throttled)
		r.touch(now)
		if r.dial.interval == 0 || r.rested {
			r.dial.throttled(r.dial.generation)
			r.rested = false
		}
	})
	return r.rest(ctx)
}

// SleepOnSuccess records a call that succeeded, and waits before the next call if there is a delay.
// New code uses [Responsive.Wait].
func (r *Responsive) SleepOnSuccess(ctx context.Context) error {
	ctx, err := r.sound(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	step := r.change(func() {
		r.tally.invocations++
		r.tally.count(Success)
		r.dial.succeeded(r.dial.generation)
	})
	if step.To == 0 {
		return nil
	}
	return r.rest(ctx)
}

// rest waits, and records that a worker has waited the present delay.
func (r *Responsive) rest(ctx context.Context) error {
	generation, err := r.pass(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if generation == r.dial.generation {
		r.rested = true
	}
	return nil
}

// BackOff adapts a [Responsive] to libraries that retry and request the delay before each attempt, such
// as cenkalti/backoff, whose interface BackOff it implements. Create one per operation with
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
	if !b.made() {
		return 0
	}
	now := time.Now()
	if b.responsive.forgotten(now) {
		b.Reset()
	}
	b.responsive.done(b.generation.Load(), Throttled)
	d, generation := b.responsive.slot(now)
	b.generation.Store(generation)
	return d
}

// Reset begins an operation.
func (b *BackOff) Reset() {
	if b.made() {
		b.responsive.forgotten(time.Now())
		b.generation.Store(b.responsive.generation())
	}
}

// Succeeded records that the operation succeeded. Retrying libraries do not report successes: if
// Succeeded is not called, only Config.IdleReset makes the delay shorter.
func (b *BackOff) Succeeded() {
	if b.made() {
		b.responsive.done(b.generation.Load(), Success)
	}
}

// made reports whether the Responsive of b came from New.
func (b *BackOff) made() bool { return b != nil && b.responsive.made() }
