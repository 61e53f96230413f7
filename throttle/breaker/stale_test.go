package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// circuitsByHand puts one circuit of every kind into a store, and returns their keys by kind.
func circuitsByHand(t *testing.T, store breaker.Store) map[string]breaker.Key {
	t.Helper()
	keys := map[string]breaker.Key{}
	for _, kind := range []string{"unknown", "open", "disabled", "forced open", "forced closed"} {
		keys[kind] = breaker.Key{ID: kind}
	}
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		return map[breaker.Key]breaker.PollResult{keys["open"]: {Failures: 20}}, nil
	}
	hand := agent(t, breaker.Config{Store: store, Poll: poll, BreakerTimeout: 10 * time.Minute})
	ctx := t.Context()
	if err := errors.Join(hand.Sample(ctx), hand.Disable(ctx, keys["disabled"]), hand.ForceOpen(ctx, keys["forced open"]), hand.ForceClose(ctx, keys["forced closed"])); err != nil {
		t.Fatal(err)
	}
	return keys
}

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
				var fault failure
				store := newMeddler(breaker.NewMemoryStore())
				keys := circuitsByHand(t, store)
				store.before = fault.meddle
				m := agent(t, breaker.Config{Store: store, OnStale: tt.policy, Poll: polled(breaker.PollResult{}), BreakerTimeout: 10 * time.Minute})
				answers(t, "never read", m, keys, tt.never)
				running(t, m)
				time.Sleep(2 * time.Second)
				answers(t, "fresh", m, keys, fresh)
				fault.set(errNetwork)
				time.Sleep(55 * time.Second)
				answers(t, "not yet stale", m, keys, tt.soon)
				time.Sleep(8 * time.Second)
				answers(t, "stale", m, keys, tt.stale)
				time.Sleep(10 * time.Minute)
				answers(t, "stale and its time over", m, keys, tt.lapsed)
				fault.err.Store(nil)
				time.Sleep(7 * time.Second)
				if err := m.CanExecute(t.Context(), keys["disabled"]); !errors.Is(err, breaker.ErrDisabled) || m.Stats().Stale {
					t.Errorf("got %v, stale %v, when the store is back, want ErrDisabled and false", err, m.Stats().Stale)
				}
			})
		})
	}
}

// answers wants an answer for every kind of circuit, nil for those not named.
func answers(t *testing.T, when string, m *breaker.Manager, keys map[string]breaker.Key, want map[string]error) {
	t.Helper()
	for kind, k := range keys {
		if err := m.CanExecute(t.Context(), k); !errors.Is(err, want[kind]) || want[kind] == nil && err != nil {
			t.Errorf("%s: %s circuit: got %v, want %v", when, kind, err, want[kind])
		}
	}
}

// TestAFrozenStoreDelaysNoCall freezes the store for twenty seconds under 1,000 calls a second, and measures every call.
func TestAFrozenStoreDelaysNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ice frozen
		store := newMeddler(breaker.NewMemoryStore())
		keys := circuitsByHand(t, store)
		store.before = ice.meddle
		m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), BreakerTimeout: 10 * time.Minute})
		stop := running(t, m)
		time.Sleep(2 * time.Second)
		ice.on.Store(true)
		var took []time.Duration
		for range 20_000 {
			for _, k := range keys {
				begun := time.Now()
				_ = m.CanExecute(t.Context(), k)
				took = append(took, time.Since(begun))
			}
			time.Sleep(time.Millisecond)
		}
		slices.Sort(took)
		if p99, most := took[len(took)*99/100], took[len(took)-1]; most != 0 {
			t.Errorf("got calls that waited, 99 in 100 within %v, all within %v, want none that waits", p99, most)
		}
		ice.thaw()
		back := eventually(t, 10*time.Second, "the store is read again", func() bool { return m.Stats().SnapshotAge < time.Second })
		t.Logf("it was read again %v after it thawed", back)
		stop()
	})
}

// TestTheLeaderIsFollowed freezes the leader's own way to the store, or its whole life, again and again.
func TestTheLeaderIsFollowed(t *testing.T) {
	for _, rate := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(rate.String(), func(t *testing.T) {
			phases := size(20, 20, 4)
			for i := range phases {
				synctest.Test(t, func(t *testing.T) { followed(t, rate, time.Duration(i)*rate/time.Duration(phases)) })
			}
		})
	}
}

func followed(t *testing.T, rate, phase time.Duration) {
	inner, ices := breaker.NewMemoryStore(), make([]frozen, 3)
	var all []*breaker.Manager
	for i := range ices {
		store := newMeddler(inner)
		store.before = ices[i].meddle
		all = append(all, agent(t, breaker.Config{Store: store, SampleRate: rate, Poll: polled(breaker.PollResult{})}))
	}
	running(t, all...)
	leads := func(not int) int {
		return slices.IndexFunc(all, func(m *breaker.Manager) bool {
			return m != all[max(0, not)] && m.Stats().Leads || not < 0 && m.Stats().Leads
		})
	}
	time.Sleep(3*rate + phase)
	first := leads(-1)
	if first < 0 {
		t.Fatal("nobody leads after three sample rates")
	}
	ices[first].on.Store(true)
	begun := time.Now()
	for leads(first) < 0 && time.Since(begun) < 3*rate {
		time.Sleep(rate / 100)
	}
	if took := time.Since(begun); took > 2*rate {
		t.Errorf("the leader was followed after %v, want within %v", took, 2*rate)
	}
	time.Sleep(2 * rate)
	if all[first].Stats().Leads {
		t.Error("the old leader leads still, after its lease is over")
	}
	ices[first].thaw()
}

// TestAFlushForgetsNothing empties the store under three agents, again and again, at any moment.
func TestAFlushForgetsNothing(t *testing.T) {
	for i := range size(10, 10, 3) {
		synctest.Test(t, func(t *testing.T) {
			store := newMeddler(breaker.NewMemoryStore())
			keys := circuitsByHand(t, store)
			delete(keys, "open")
			all := agents(t, 3, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
			running(t, all...)
			time.Sleep(2*time.Second + time.Duration(i)*30*time.Second + time.Duration(i)*97*time.Millisecond)
			want := map[string]error{"disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
			for range 5 {
				store.flush()
				for range 30 {
					time.Sleep(100 * time.Millisecond)
					for _, m := range all {
						answers(t, "flushed", m, keys, want)
					}
				}
			}
			late := agent(t, breaker.Config{Store: store})
			if err := late.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			answers(t, "who comes later", late, keys, want)
			if all[0].Stats().Failures[breaker.RecordsLost]+all[1].Stats().Failures[breaker.RecordsLost]+all[2].Stats().Failures[breaker.RecordsLost] == 0 {
				t.Error("got no word of lost records, want some")
			}
		})
	}
}

// TestAReadOnlyStoreIsRead lets nobody write: what is in the store is known all the same, also beside a record that makes no sense.
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
