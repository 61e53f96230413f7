package backoff

import (
	"context"
	"time"
)

// Metrics is what was counted, for those who come from a sleeper of their own: see [Responsive.Stats] for more.
type Metrics struct {
	TotalInvocation uint64 // of SleepOnFailure and SleepOnSuccess
	TotalWentUp     uint64
	TotalWentDown   uint64
	TotalSlept      uint64
	TotalSleepTime  time.Duration // that was really slept
}

// GetMetrics returns what was counted, for those who come from a sleeper of their own.
func (r *Responsive) GetMetrics() Metrics {
	if !r.made() {
		return Metrics{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats()
	return Metrics{TotalInvocation: r.tally.invocations, TotalWentUp: s.Ups, TotalWentDown: s.Downs, TotalSlept: s.Slept, TotalSleepTime: s.SleepTime}
}

// SleepOnFailure takes a step up after a call that was throttled, and waits before the next. Where many workers share the delay they all see the same
// event: none but the first takes a step until somebody has waited that delay, and may have called again.
func (r *Responsive) SleepOnFailure(ctx context.Context) error {
	ctx, err := r.sound(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	r.forgotten(now) // by itself: what follows is another step
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

// SleepOnSuccess counts a call that was served, takes a step down if it is time, and waits before the next if there is a delay.
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

// rest waits, and notes that somebody has waited the present delay.
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
