package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestStalePolicies cuts agents off from their store, for longer than MaxStale, until after the open circuit's time, and then lets them read again.
func TestStalePolicies(t *testing.T) {
	fresh := map[string]error{"open": breaker.ErrOpen, "disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
	lapsed := map[string]error{"disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
	all := map[string]error{
		"unknown": breaker.ErrStale, "open": breaker.ErrStale, "disabled": breaker.ErrStale, "forced open": breaker.ErrStale, "forced closed": breaker.ErrStale,
	}
	for _, tt := range []struct {
		policy                     breaker.StalePolicy
		never, soon, stale, lapsed map[string]error
	}{
		{breaker.FailOpen, nil, fresh, nil, nil},
		{breaker.KeepLast, nil, fresh, fresh, lapsed},
		{breaker.FailClosed, all, fresh, all, all},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken fault
				store := newMeddler(breaker.NewMemoryStore())
				keys := circuitsByHand(t, store)
				store.before = broken.meddle
				m := agent(t, breaker.Config{Store: store, OnStale: tt.policy, Poll: polled(breaker.PollResult{}), BreakerTimeout: 10 * time.Minute})
				answers(t, "never read", m, keys, tt.never)
				running(t, m)
				time.Sleep(2 * time.Second)
				answers(t, "fresh", m, keys, fresh)
				broken.set(errNetwork)
				time.Sleep(55 * time.Second)
				answers(t, "not yet stale", m, keys, tt.soon)
				time.Sleep(8 * time.Second)
				answers(t, "stale", m, keys, tt.stale)
				time.Sleep(10 * time.Minute)
				answers(t, "stale and its time over", m, keys, tt.lapsed)
				broken.err.Store(nil)
				time.Sleep(7 * time.Second)
				if err := m.CanExecute(t.Context(), keys["disabled"]); !errors.Is(err, breaker.ErrDisabled) || m.Stats().Stale {
					t.Errorf("got %v, stale %v, when the store is back, want ErrDisabled and false", err, m.Stats().Stale)
				}
			})
		})
	}
}

// TestRoundsByHandGrowStale makes rounds by hand without a store.
func TestRoundsByHandGrowStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken fault
		store, k, ctx := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, t.Context()
		store.before = only(func(ctx context.Context) error { return broken.meddle(ctx, "") }, "Versions")
		m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		must(t, m.Disable(ctx, k))
		broken.set(errNetwork)
		for _, stale := range []bool{false, true} {
			wants(t, m.Sample(ctx), errNetwork, "from a round without a store")
			if err := m.CanExecute(ctx, k); (err == nil) != stale || m.Stats().Stale != stale {
				t.Errorf("got %v and stale %v, want stale %v", err, m.Stats().Stale, stale)
			}
			time.Sleep(2 * time.Minute)
		}
		broken.err.Store(nil)
		sample(t, m)
		wants(t, m.CanExecute(ctx, k), breaker.ErrDisabled, "when the store is back")
	})
}

// TestAReadOnlyStoreIsRead rejects all writes: managers still read the store, also beside a corrupt record.
func TestAReadOnlyStoreIsRead(t *testing.T) {
	for _, corrupt := range []bool{false, true} {
		t.Run(fmt.Sprintf("corrupt record %v", corrupt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMeddler(breaker.NewMemoryStore())
				keys := circuitsByHand(t, store)
				if corrupt {
					put(t, store, breaker.Key{ID: "corrupt"}, "{")
				}
				store.before = only(func(context.Context) error { return errors.New("READONLY") }, "Apply", "Campaign", "Probe", "Resign")
				m := agent(t, breaker.Config{Store: store})
				running(t, m)
				want := map[string]error{"open": breaker.ErrOpen, "disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
				for range 4 {
					time.Sleep(45 * time.Second)
					answers(t, "read-only", m, keys, want)
				}
				if err := m.Disable(t.Context(), keys["unknown"]); err == nil {
					t.Error("Disable: got nil, want the store's error")
				}
			})
		})
	}
}
