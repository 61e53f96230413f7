package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestAConflictIsThoughtOver has another agent change a circuit just before this agent writes its
// own change. The second change is made to what the first one left.
func TestAConflictIsThoughtOver(t *testing.T) {
	store, k, ctx := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, t.Context()
	m, other := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
	must(t, m.Disable(ctx, k))
	store.before = only(func(context.Context) error {
		store.before = nil
		return other.Enable(ctx, k)
	}, "Apply")
	must(t, m.ForceOpen(ctx, k), other.Refresh(ctx))
	for _, m := range []*breaker.Manager{m, other} {
		if s := m.Status(k); s.State != breaker.Open || !s.Forced || s.Generation != 3 {
			t.Errorf("got %+v, want it forced open by the third change", s)
		}
	}
	if n := m.Stats().Errors.Of(breaker.WriteConflicted); n != 1 {
		t.Errorf("got %d conflicts reported, want 1", n)
	}
}

// TestALeaderThatWasFollowedIsFenced has a poll that lasts until another agent leads. What the
// first agent decides by it is not written.
func TestALeaderThatWasFollowedIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
		next := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		m := agent(t, breaker.Config{
			Store: store, PollTimeout: time.Minute,
			Poll: polls(func() results {
				running(t, next)
				time.Sleep(20 * time.Second)
				return results{k: {Failures: 20}}
			}),
		})
		err := m.Sample(t.Context())
		if n := m.Stats().Errors.Of(breaker.WriteFenced); !errors.Is(err, breakerstore.ErrFenced) || n != 1 {
			t.Errorf("got %v and %d fenced writes reported, want ErrFenced and 1", err, n)
		}
		if s := next.Status(k).State; !next.Stats().Leads || s != breaker.Closed {
			t.Errorf("got leads %v and state %v of the next leader, want true and closed", next.Stats().Leads, s)
		}
	})
}

// TestAnOldLeaderCanWriteNothing writes with the term of an earlier leader, to every shard, also those that no manager has
// ever written: what is still on its way when the lease changes must not arrive.
func TestAnOldLeaderCanWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ctx := breaker.NewMemoryStore(), t.Context()
		old, err := store.Campaign(ctx, breakerstore.Candidate{Owner: "old", TTL: time.Second})
		must(t, err)
		time.Sleep(2 * time.Second)
		running(t, agent(t, breaker.Config{Store: store}))
		time.Sleep(time.Second)
		v, err := store.Versions(ctx)
		must(t, err)
		for i, version := range v.Shards {
			if _, err := store.Apply(ctx, breakerstore.Batch{Shard: i, Term: old.Term, Expect: version}); !errors.Is(err, breakerstore.ErrFenced) {
				t.Errorf("shard %d: got %v, want ErrFenced", i, err)
			}
		}
	})
}
