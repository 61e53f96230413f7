package breaker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/remote"
)

func TestTheGuardKnowsWhoseFaultItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Must(New(Config{Name: "x"}))
		for range 2 * failuresToRest {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := remote.Ask(ctx, m.guard, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if _, err := remote.Ask(ctx, m.guard, func(context.Context) (int, error) {
				t.Error("called the store after the context had ended")
				return 0, nil
			}, nil); err == nil {
				t.Error("an ended context made no error")
			}
		}
		if _, err := remote.Ask(t.Context(), m.guard, func(context.Context) (int, error) { panic("boom") }, nil); err == nil {
			t.Errorf("a panic is %v", err)
		}
		if got := m.Stats().Errors.Of(StoreFailed); got != 1 {
			t.Errorf("%d failures of the store, want the panic alone", got)
		}
	})
}
