package breaker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestTheGuardKnowsWhoseFaultItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Must(New(Config{Name: "x"}))
		for range 2 * failuresToRest {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := callStore(ctx, m.store, func(ctx context.Context, _ store.Store) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if _, err := callStore(ctx, m.store, func(context.Context, store.Store) (int, error) {
				t.Error("called the store after the context had ended")
				return 0, nil
			}); err == nil {
				t.Error("an ended context made no error")
			}
		}
		if _, err := callStore(t.Context(), m.store, func(context.Context, store.Store) (int, error) { panic("boom") }); err == nil {
			t.Errorf("a panic is %v", err)
		}
		if got := m.Stats().Errors.Of(StoreFailed); got != 1 {
			t.Errorf("%d failures of the store, want the panic alone", got)
		}
	})
}
