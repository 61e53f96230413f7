package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// wrongAfter changes circuits one after the other, has two refresh beside each other after each, and returns how many of them did not go by
// what they had read when Refresh had returned.
func wrongAfter(t *testing.T, change func(hand *breaker.Manager, k breaker.Key) error, want error) int {
	t.Helper()
	store, ctx := breaker.NewMemoryStore(), t.Context()
	hand, m := agent(t, breaker.Config{Store: store, StoreTimeout: time.Minute}), agent(t, breaker.Config{Store: store, StoreTimeout: time.Minute})
	sample(t, agent(t, breaker.Config{Store: store, StoreTimeout: time.Minute, Poll: failingAll(300)})) // a large table takes long to make
	var wrong [2]int
	for i := range size(75, 75, 15) {
		k := breaker.Key{ID: fmt.Sprint("changed ", i)}
		if err := errors.Join(hand.Disable(ctx, k), m.Refresh(ctx), change(hand, k)); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for j := range wrong {
			both.Go(func() {
				if err := m.Refresh(ctx); err != nil {
					t.Error(err)
				}
				if err := m.CanExecute(ctx, k); !errors.Is(err, want) {
					wrong[j]++
				}
			})
		}
		both.Wait()
	}
	return wrong[0] + wrong[1]
}

// TestCallsGoByWhatWasRefreshed has two goroutines refresh at once, as Run and a caller do: for neither is a call decided by less than was read.
func TestCallsGoByWhatWasRefreshed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*breaker.Manager, breaker.Key) error
		want   error
	}{
		"enabled":     {func(m *breaker.Manager, k breaker.Key) error { return m.Enable(t.Context(), k) }, nil},
		"forced open": {func(m *breaker.Manager, k breaker.Key) error { return m.ForceOpen(t.Context(), k) }, breaker.ErrOpen},
	} {
		t.Run(name, func(t *testing.T) {
			if n := wrongAfter(t, tt.change, tt.want); n > 0 {
				t.Errorf("got %d calls decided by what was known before Refresh, want 0", n)
			}
		})
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

// TestASlowTableTakesNothingBack has one goroutine take long to make a table, because of ForTenant, while another one learns of a change.
func TestASlowTableTakesNothingBack(t *testing.T) {
	early, slow := keyOfShard(3), breaker.Key{Tenant: "slow"}
	for slow.RecordID().Shard() <= 3 {
		slow.ID += "x"
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	var slowed atomic.Bool
	store, ctx := breaker.NewMemoryStore(), t.Context()
	hand := agent(t, breaker.Config{Store: store})
	if err := hand.Disable(ctx, slow); err != nil {
		t.Fatal(err)
	}
	m := agent(t, breaker.Config{Store: store, ForTenant: func(tenant string, c breaker.Config) breaker.Config {
		if tenant == slow.Tenant && !slowed.Swap(true) {
			close(begun)
			<-goOn
		}
		return c
	}})
	ended := make(chan error)
	go func() { ended <- m.Refresh(ctx) }()
	<-begun
	err := errors.Join(hand.Disable(ctx, early), m.Refresh(ctx))
	close(goOn)
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if err := m.CanExecute(ctx, early); !errors.Is(err, breaker.ErrDisabled) {
		t.Errorf("got %v from a table that was begun earlier, want ErrDisabled", err)
	}
}

// keyOfShard returns a key whose record lies in the shard.
func keyOfShard(shard int) breaker.Key {
	for i := 0; ; i++ {
		if k := (breaker.Key{ID: fmt.Sprint(i)}); k.RecordID().Shard() == shard {
			return k
		}
	}
}
