package breaker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// watched is a store whose Watch returns nil, at once.
type watched struct {
	*meddler
	watches atomic.Int64
}

func (w *watched) Watch(context.Context, func()) error {
	w.watches.Add(1)
	return nil
}

// TestAWatchThatEndsIsTold has Watch end with no error: what is told says so, and it is watched again, but not all the time.
func TestAWatchThatEndsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		hooks := breaker.Hooks{Failed: func(e breaker.FailureEvent) {
			if e.Failure == breaker.StoreFailed {
				told = append(told, e.Err)
			}
		}}
		store := &watched{meddler: newMeddler(breaker.NewMemoryStore())}
		stop := running(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), Hooks: hooks}))
		time.Sleep(time.Minute + time.Second/2) // not when it is watched again
		stop()
		watches := store.watches.Load()
		if watches < 30 || watches > 62 {
			t.Errorf("got %d watches in a minute, want about one a second", watches)
		}
		if len(told) != int(watches) {
			t.Errorf("got %d failures of the store told, want %d", len(told), watches)
		}
		for _, err := range told {
			if err == nil || err.Error() != "breaker: the store's Watch has ended without an error" {
				t.Fatalf("got %v told, want that Watch has ended", err)
			}
		}
	})
}

// TestAWatchThatEndsWithItsContextIsNotTold stops an agent whose store's Watch returns nil then: all is well.
func TestAWatchThatEndsWithItsContextIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := agent(t, breaker.Config{Poll: polled(breaker.PollResult{}), Store: &patient{meddler: newMeddler(breaker.NewMemoryStore())}})
		stop := running(t, m)
		time.Sleep(time.Minute)
		stop()
		if n := m.Stats().Failures[breaker.StoreFailed]; n != 0 {
			t.Errorf("got %d failures of the store told, want 0", n)
		}
	})
}

// patient is a store whose Watch returns nil at the end of its context.
type patient struct{ *meddler }

func (*patient) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}
