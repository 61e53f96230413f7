package breaker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestAShardThatIsNotLoadedIsAnError refreshes from a store that does not load all that was asked for.
func TestAShardThatIsNotLoadedIsAnError(t *testing.T) {
	store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}
	must(t, agent(t, breaker.Config{Store: store}).Disable(t.Context(), k))
	m := agent(t, breaker.Config{Store: store})
	store.answer = func(pointer any) {
		if loaded, ok := pointer.(*[]breakerstore.Shard); ok {
			*loaded = (*loaded)[1:]
		}
	}
	if err := m.Refresh(t.Context()); err == nil || m.Stats().Errors.Of(breaker.StoreFailed) != 1 {
		t.Errorf("got error %v and %d failures of the store reported, want an error and 1", err, m.Stats().Errors.Of(breaker.StoreFailed))
	}
}

// TestStoreCallsDoNotGrowWithCircuits counts what agents ask of the store: nothing depends on how
// many circuits there are.
func TestStoreCallsDoNotGrowWithCircuits(t *testing.T) {
	asked := func(circuits int) (calls int64) {
		synctest.Test(t, func(t *testing.T) {
			store := newMeddler(breaker.NewMemoryStore())
			sample(t, agent(t, breaker.Config{Store: *store.inner.Load(), Poll: failingAll(circuits), ConsecutiveFailureThreshold: 1}))
			time.Sleep(time.Minute) // until the lease is over
			running(t, agent(t, breaker.Config{Store: store, Poll: failingAll(0)}))
			time.Sleep(time.Minute)
			store.calls.Store(0)
			time.Sleep(time.Minute)
			calls = store.calls.Load()
		})
		return calls
	}
	none, many := asked(0), asked(1000)
	if most := int64(67 + 25 + 13); none > most || many > most { // refreshes, extensions, rounds
		t.Errorf("got %d calls a minute with no circuit and %d with 1,000, want at most %d of either", none, many, most)
	}
}

// late is the key of how long the answer to a Load is held back.
type late struct{}

// holdLoads holds answers back.
func holdLoads(ctx context.Context, op string) error {
	if d, ok := ctx.Value(late{}).(time.Duration); ok && op == "Load" {
		time.Sleep(d)
	}
	return nil
}

// TestARefreshIsNotOvertaken has an older answer arrive while a newer one is under way: the newer one counts, whether or not the store
// was emptied between the two.
func TestARefreshIsNotOvertaken(t *testing.T) {
	for name, between := range map[string]func(*meddler){"a write": func(*meddler) {}, "a loss": (*meddler).flush} {
		bubble(t, name, func(t *testing.T) {
			store, k, ctx := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, t.Context()
			hand, m := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
			must(t, hand.Disable(ctx, k), m.Refresh(ctx), hand.Enable(ctx, k))
			store.after = holdLoads
			go func() { _ = m.Refresh(context.WithValue(ctx, late{}, 10*time.Millisecond)) }()
			time.Sleep(time.Millisecond)
			between(store)
			must(t, hand.Refresh(ctx), hand.Disable(ctx, k))
			must(t, m.Refresh(context.WithValue(ctx, late{}, 20*time.Millisecond)))
			wants(t, m.CanExecute(ctx, k), breaker.ErrDisabled, "after a refresh that has read that it is disabled")
		})
	}
}

// TestARefreshThatGivesBackReadsOn has another manager write while one is about to write lost records back.
func TestARefreshThatGivesBackReadsOn(t *testing.T) {
	store, k, ctx := newMeddler(breaker.NewMemoryStore()), keysOfShard(7, 2), t.Context()
	hand, m := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
	must(t, hand.Disable(ctx, k[0]), m.Refresh(ctx))
	store.flush()
	store.before = only(func(context.Context) error {
		store.before = nil
		return errors.Join(hand.Refresh(ctx), hand.Disable(ctx, k[1]))
	}, "Apply")
	must(t, m.Refresh(ctx))
	for i := range k {
		wants(t, m.CanExecute(ctx, k[i]), breaker.ErrDisabled, "circuit %d, which was written before Refresh returned", i)
	}
}

// TestHintsAreHeeded changes a circuit in a store that reports changes.
func TestHintsAreHeeded(t *testing.T) {
	k := breaker.Key{ID: "a"}
	play(t, scenario{
		name: "memory store", memory: true, agents: 2, poll: results{}, config: breaker.Config{Refresh: 10 * time.Second, SampleRate: time.Minute},
		steps: steps(by(0, runs), wait(15*time.Second), by(1, disable(k)), wait(time.Second), by(0, sheds(breaker.ErrDisabled, k))),
	})
}

// TestMemoryStore_Watch reports a change that comes during the report of another.
func TestMemoryStore_Watch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
		m := agent(t, breaker.Config{Store: s})
		defer m.Close()
		reports := 0
		go func() {
			_ = s.Watch(t.Context(), func() {
				if reports++; reports == 1 {
					_ = m.Enable(t.Context(), k)
				}
			})
		}()
		synctest.Wait()
		must(t, m.Disable(t.Context(), k))
		synctest.Wait()
		equals(t, reports, 2, "reports of two changes")
	})
}

// watched is a store whose Watch is the test's.
type watched struct {
	*meddler
	watch   func(ctx context.Context, changed func()) error
	watches atomic.Int64
}

func (w *watched) Watch(ctx context.Context, changed func()) error {
	w.watches.Add(1)
	return w.watch(ctx, changed)
}

// TestWatch runs an agent for a minute with a Watch that reports changes all the time, fails, or
// returns nil. The agent makes at most 20 refreshes and one watch a second, and reports each watch
// that ends before its context.
func TestWatch(t *testing.T) {
	for _, tt := range []struct {
		name        string
		watch       func(ctx context.Context, changed func()) error
		least, most int64 // watches
		failed      string
		calls       int64 // to the store, at most
	}{
		{"reports all the time", func(ctx context.Context, changed func()) error {
			for ctx.Err() == nil {
				changed()
				time.Sleep(time.Millisecond)
			}
			return errNetwork
		}, 1, 1, "", 20*60 + 200},
		{"fails", func(context.Context, func()) error { return errNetwork }, 30, 62, errNetwork.Error(), 300},
		{"returns nil", func(context.Context, func()) error { return nil }, 30, 62, "breaker: Watch of the store returned without an error", 300},
		{"returns nil at the end of its context", func(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }, 1, 1, "", 300},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var failed []string
			hooks := breaker.Hooks{Failed: func(e breaker.FailureEvent) { failed = append(failed, e.Err.Error()) }}
			store := &watched{meddler: newMeddler(breaker.NewMemoryStore()), watch: tt.watch}
			stop := running(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), Hooks: hooks}))
			time.Sleep(time.Minute + time.Second/2) // not when it is watched again
			stop()
			time.Sleep(time.Second)
			if n, w := store.calls.Load(), store.watches.Load(); n > tt.calls || w < tt.least || w > tt.most {
				t.Errorf("got %d calls and %d watches in a minute, want at most %d calls, and %d to %d watches", n, w, tt.calls, tt.least, tt.most)
			}
			if want := slices.Repeat([]string{tt.failed}, int(store.watches.Load())); tt.failed != "" && !slices.Equal(failed, want) || tt.failed == "" && len(failed) > 0 {
				t.Errorf("got failures %q, want %q for each watch", failed, tt.failed)
			}
		})
	}
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
		play(t, scenario{
			name: tt.policy.String(), poll: results{}, config: breaker.Config{OnStale: tt.policy, BreakerTimeout: 10 * time.Minute},
			steps: steps(kinds, answer(tt.never), runs, wait(2*time.Second), answer(fresh), cut, wait(55*time.Second), answer(tt.soon),
				wait(8*time.Second), answer(tt.stale), wait(10*time.Minute), answer(tt.lapsed), mended, wait(7*time.Second),
				sheds(breaker.ErrDisabled, breaker.Key{ID: "disabled"}), shows("is not stale", func(s breaker.Stats) bool { return !s.Stale })),
		})
	}
}

// kinds makes circuits of every kind, as circuitsByHand does.
func kinds(s *scene) { circuitsByHand(s.T, s.store) }

// answer wants an answer for every kind of circuit, nil for those not named.
func answer(want map[string]error) step {
	return func(s *scene) {
		for _, kind := range []string{"unknown", "open", "disabled", "forced open", "forced closed"} {
			sheds(want[kind], breaker.Key{ID: kind})(s)
		}
	}
}

// TestAReadOnlyStoreIsRead rejects all writes: managers still read the store, also beside a corrupt record.
func TestAReadOnlyStoreIsRead(t *testing.T) {
	want := map[string]error{"open": breaker.ErrOpen, "disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
	for name, data := range map[string]string{"beside a corrupt record": "{", "beside one of a later version": `{"v":2}`} {
		play(t, scenario{
			name: name, faulty: []string{"Apply", "Campaign", "Probe", "Resign"},
			steps: steps(kinds, func(s *scene) { put(s.T, s.store, breaker.Key{ID: "corrupt"}, data) }, cut, runs,
				times(4, wait(45*time.Second), answer(want)), func(s *scene) {
					wants(s, s.actor().Disable(s.Context(), breaker.Key{ID: "unknown"}), errNetwork, "Disable")
				}),
		})
	}
}
