package throttle_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// useElsewhere calls every method of a throttle from another goroutine and waits for it, which would never end if this one held
// a lock of the throttle.
func useElsewhere(t *testing.T, th *throttle.Throttle) {
	t.Helper()
	inTime(t, func() {
		ctx := context.Background()
		_ = th.Do(ctx, throttle.High, returns(errBusy))
		_, _ = throttle.Do(ctx, th, throttle.High, valued(1, nil))
		if call, err := th.Admit(ctx, throttle.Low); err == nil {
			call.Done(errPlain)
		}
		_, _, _ = th.Name(), th.Stats(), th.RejectionProbability(throttle.Low)
		tune(t, th, throttle.Patch{Ratio: new(2.001)})
		_ = th.Close()
	})
}

// TestNoLockIsHeldWhileForeignCodeRuns: not while a hook runs, nor any other function that a Config or Tune is given.
func TestNoLockIsHeldWhileForeignCodeRuns(t *testing.T) {
	var use func(who string, th *throttle.Throttle) // what each of the functions below does
	var th *throttle.Throttle
	config := func() throttle.Config {
		return throttle.Config{
			Hooks: throttle.Hooks{
				Created: func(th *throttle.Throttle) { use("Created", th) },
				Closed:  func(th *throttle.Throttle) { use("Closed", th) },
				Shed:    func(_ context.Context, e throttle.ShedEvent) { use("Shed", e.Throttle) },
				Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
					use("Started", e.Throttle)
					return ctx
				},
				Finished: func(_ context.Context, e throttle.FinishEvent) { use("Finished", e.Throttle) },
				FellBack: func(_ context.Context, e throttle.FallbackEvent) { use("FellBack", e.Throttle) },
			},
			Classify: func(context.Context, error) (throttle.Outcome, bool) { use("Classify", th); return 0, false },
			InvalidPriority: func(p throttle.Priority, n int) (throttle.Priority, error) {
				use("InvalidPriority", th)
				return throttle.ClampPriority(p, n)
			},
			Now:  func() time.Time { use("Now", th); return newYear(2026) },
			Rand: func() float64 { use("Rand", th); return unlucky() },
		}
	}
	all := func() {
		th = build(t, config())
		ctx := t.Context()
		for range 40 { // the gates are set more than once
			_ = th.Do(ctx, 99, returns(errBusy), func(context.Context, error, bool) error { return nil })
		}
		_, _ = th.Stats(), th.RejectionProbability(throttle.High)
		_ = th.Tune(throttle.Patch{Mode: new(throttle.ModeShadow)})
		_ = th.Close()
	}
	for _, moment := range []string{
		"Created", "Closed", "Shed", "Started", "Finished", "FellBack", "Classify", "InvalidPriority", "Now", "Rand",
	} {
		t.Run(moment, func(t *testing.T) {
			th = nil
			var inside atomic.Bool
			used := 0
			use = func(who string, th *throttle.Throttle) { // each time, not only the first
				if who == moment && th != nil && inside.CompareAndSwap(false, true) {
					used++
					useElsewhere(t, th)
					inside.Store(false)
				}
			}
			all()
			if used == 0 {
				t.Errorf("%s: got no call, want one, or nothing has been tested", moment)
			}
		})
	}
}
