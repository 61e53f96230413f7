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
			if !s.Running || !s.Leads || s.Term <= last {
				t.Errorf("got running %v, leads %v, term %d, want true, true and more than %d", s.Running, s.Leads, s.Term, last)
			}
			last = s.Term
			stop()
			if s := m.Stats(); s.Running || s.Leads {
				t.Errorf("after Run has ended: got running %v, leads %v, want false", s.Running, s.Leads)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestNothingOpensBeforeRun: without Run no failure has a consequence, but for the rounds that somebody makes by hand.
func TestNothingOpensBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := agent(t, breaker.Config{})
		c := m.Circuit(breaker.Key{ID: "k"})
		for range 10 {
			_ = c.Run(t.Context(), failing)
		}
		time.Sleep(30 * time.Second)
		if s := c.Status(); s.State != breaker.Closed || m.Stats().Running {
			t.Errorf("got %v, running %v, want closed and false", s.State, m.Stats().Running)
		}
		sample(t, m)
		if s := c.Status(); s.State != breaker.Open || m.Stats().Running {
			t.Errorf("after a round by hand: got %v, running %v, want open and false", s.State, m.Stats().Running)
		}
	})
}
