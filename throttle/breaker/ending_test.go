package breaker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRunEndsWhateverTheStoreDoes ends Run while some call of the store hangs and heeds no context.
func TestRunEndsWhateverTheStoreDoes(t *testing.T) {
	for _, op := range []string{"Campaign", "Resign", "Versions", "Load", "Apply", "Probe"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ice frozen
				defer ice.thaw()
				store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}
				store.before = only(func(ctx context.Context) error { return ice.meddle(ctx, op) }, op)
				m := agent(t, breaker.Config{Store: store, BreakerTimeout: time.Second})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan time.Time, 1)
				go func() { _ = m.Run(ctx); ended <- time.Now() }()
				time.Sleep(time.Second)
				for range 20 {
					_ = m.Circuit(k).Run(ctx, failing)
				}
				ice.on.Store(true)
				time.Sleep(8 * time.Second)
				_ = m.CanExecute(ctx, k)
				begun := time.Now()
				cancel()
				if took := (<-ended).Sub(begun); took > 500*time.Millisecond {
					t.Errorf("Run ended %v after its context, want within twice StoreTimeout", took)
				}
			})
		})
	}
}

// deafWatcher is a store whose Watch heeds no context.
type deafWatcher struct {
	breaker.Store
	deaf frozen
}

func (w *deafWatcher) Watch(ctx context.Context, _ func()) error { return w.deaf.meddle(ctx, "Watch") }

// TestRunEndsThoughWatchDoesNot ends Run while a Watch hangs and heeds no context.
func TestRunEndsThoughWatchDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deafWatcher{Store: newMeddler(breaker.NewMemoryStore())}
		store.deaf.on.Store(true)
		m := agent(t, breaker.Config{Store: store})
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Bool
		go func() { _ = m.Run(ctx); ended.Store(true) }()
		time.Sleep(time.Second)
		cancel()
		time.Sleep(time.Second)
		if !ended.Load() {
			t.Error("Run waits for a Watch that does not heed its context, want it left behind")
		}
		store.deaf.thaw()
	})
}

// TestRunCanRunAgain ends and runs a manager several times: it leads at once, and nobody else's lease is in the way.
func TestRunCanRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := breaker.NewMemoryStore()
		m := agent(t, breaker.Config{Store: store})
		var last uint64
		for range 5 {
			stop := running(t, m)
			time.Sleep(time.Second)
			s := m.Stats()
			if !s.Leads || s.Term <= last {
				t.Errorf("got leads %v, term %d, want true and more than %d", s.Leads, s.Term, last)
			}
			last = s.Term
			stop()
			if m.Stats().Leads {
				t.Error("leads still after Run has ended")
			}
			time.Sleep(time.Millisecond)
		}
	})
}
