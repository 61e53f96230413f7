package throttle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestDurationIsWithoutTheStartedHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got time.Duration
		th := build(t, throttle.Config{
			Hooks: throttle.Hooks{
				Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
					time.Sleep(5 * time.Second)
					return ctx
				},
				Finished: func(_ context.Context, e throttle.FinishEvent) { got = e.Duration },
			},
		})
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(3 * time.Second); return nil })
		equal(t, "Duration", got, 3*time.Second)
	})
}

func TestDurationIsWithoutTheClassifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got time.Duration
		th := build(t, throttle.Config{
			Classify: func(context.Context, error) (throttle.Outcome, bool) { time.Sleep(7 * time.Second); return 0, false },
			Hooks:    throttle.Hooks{Finished: func(_ context.Context, e throttle.FinishEvent) { got = e.Duration }},
		})
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(3 * time.Second); return errPlain })
		equal(t, "Duration", got, 3*time.Second)
	})
}
