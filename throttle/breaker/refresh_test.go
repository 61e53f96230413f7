package breaker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// forgetful is a store that leaves out what it was asked to load.
type forgetful struct{ *meddler }

func (f forgetful) Load(ctx context.Context, shards []int) ([]breaker.Shard, error) {
	loaded, err := f.meddler.Load(ctx, shards)
	return loaded[1:], err
}

// TestAShardThatIsNotLoadedIsAnError refreshes from a store that does not load all that was asked for.
func TestAShardThatIsNotLoadedIsAnError(t *testing.T) {
	store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}
	if err := agent(t, breaker.Config{Store: store}).Disable(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	m := agent(t, breaker.Config{Store: forgetful{store}})
	if err := m.Refresh(t.Context()); err == nil || m.Stats().Failures[breaker.StoreFailed] != 1 {
		t.Errorf("got error %v and %d failures of the store told, want an error and 1", err, m.Stats().Failures[breaker.StoreFailed])
	}
}

// TestFault13ListsAllKeys counts what agents ask of the store: nothing depends on how many circuits there are.
func TestFault13ListsAllKeys(t *testing.T) {
	asked := func(circuits int) (calls int64) {
		synctest.Test(t, func(t *testing.T) {
			store := newMeddler(breaker.NewMemoryStore())
			sample(t, agent(t, breaker.Config{Store: *store.inner.Load(), Poll: failingAll(circuits), ConsecutiveFailureThreshold: 1}))
			time.Sleep(time.Minute) // until the lease is over
			quiet := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) { return nil, nil }
			running(t, agent(t, breaker.Config{Store: store, Poll: quiet}))
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, k, ctx := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, t.Context()
				hand, m := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
				if err := errors.Join(hand.Disable(ctx, k), m.Refresh(ctx), hand.Enable(ctx, k)); err != nil {
					t.Fatal(err)
				}
				store.after = holdLoads
				go func() { _ = m.Refresh(context.WithValue(ctx, late{}, 10*time.Millisecond)) }()
				time.Sleep(time.Millisecond)
				between(store)
				if err := errors.Join(hand.Refresh(ctx), hand.Disable(ctx, k)); err != nil {
					t.Fatal(err)
				}
				if err := m.Refresh(context.WithValue(ctx, late{}, 20*time.Millisecond)); err != nil {
					t.Fatal(err)
				}
				if err := m.CanExecute(ctx, k); !errors.Is(err, breaker.ErrDisabled) {
					t.Errorf("got %v after a refresh that has read that it is disabled, want ErrDisabled", err)
				}
			})
		})
	}
}

// TestARefreshThatGivesBackReadsOn has somebody else write when an agent is about to give back what the store has lost.
func TestARefreshThatGivesBackReadsOn(t *testing.T) {
	store, k, ctx := newMeddler(breaker.NewMemoryStore()), sameShard(2), t.Context()
	hand, m := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
	if err := errors.Join(hand.Disable(ctx, k[0]), m.Refresh(ctx)); err != nil {
		t.Fatal(err)
	}
	store.flush()
	store.before = only(func(context.Context) error {
		store.before = nil
		return errors.Join(hand.Refresh(ctx), hand.Disable(ctx, k[1]))
	}, "Apply")
	if err := m.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range k {
		if err := m.CanExecute(ctx, k[i]); !errors.Is(err, breaker.ErrDisabled) {
			t.Errorf("circuit %d: got %v, want ErrDisabled: it was written before Refresh returned", i, err)
		}
	}
}

// TestHintsAreHeeded changes a circuit in a store that tells of it, and one that tells too much.
func TestHintsAreHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
		c := breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), Refresh: 10 * time.Second, SampleRate: time.Minute}
		m := agent(t, c)
		running(t, m)
		time.Sleep(15 * time.Second)
		if err := agent(t, c).Disable(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Second, "the agent knows", inState(k, breaker.Disabled, m))
	})
}

// chatterbox is a store whose Watch tells of changes all the time, or fails at once.
type chatterbox struct {
	*meddler
	fails   bool
	watches atomic.Int64
}

func (c *chatterbox) Watch(ctx context.Context, changed func()) error {
	c.watches.Add(1)
	for !c.fails && ctx.Err() == nil {
		changed()
		time.Sleep(time.Millisecond)
	}
	return errNetwork
}

// TestHintsAreNotOvervalued counts what an agent asks of such stores in a minute.
func TestHintsAreNotOvervalued(t *testing.T) {
	for name, fails := range map[string]bool{"tells all the time": false, "fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &chatterbox{meddler: newMeddler(breaker.NewMemoryStore()), fails: fails}
				stop := running(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})}))
				time.Sleep(time.Minute)
				stop()
				time.Sleep(time.Second)
				if n, w := store.calls.Load(), store.watches.Load(); n > 20*60+200 || w > 70 {
					t.Errorf("got %d calls and %d watches in a minute, want at most 20 refreshes a second and one watch", n, w)
				}
			})
		})
	}
}

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
