package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// clerk is a store that remembers which version each record was written at, and so notices a write that was thought of without
// knowing the one before it: that one is lost. Unfenced, it takes such writes, as a store with neither terms nor versions does.
type clerk struct {
	*breaker.MemoryStore
	unfenced bool

	mu      sync.Mutex
	rng     *rand.Rand
	written map[breaker.RecordID]uint64
	writes  int
	lost    int
	refused int
}

// delay makes an answer late, seldom but by more than a lease.
func (s *clerk) delay() {
	s.mu.Lock()
	d := time.Duration(s.rng.IntN(2000)) * time.Microsecond
	if s.rng.IntN(20) == 0 {
		d += time.Duration(s.rng.IntN(60)) * time.Millisecond
	}
	s.mu.Unlock()
	time.Sleep(d) // it heeds no context: what is on its way arrives
}

func (s *clerk) Campaign(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
	s.delay()
	return s.MemoryStore.Campaign(context.WithoutCancel(ctx), c)
}

func (s *clerk) Apply(ctx context.Context, b breaker.Batch) (breaker.Version, error) {
	s.delay()
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	knew := b.Expect.Number
	if s.unfenced {
		v, err := s.Versions(ctx)
		if err != nil {
			return breaker.Version{}, err
		}
		b.Expect, b.Term = v.Shards[b.Shard], 0
	}
	v, err := s.MemoryStore.Apply(ctx, b)
	if err != nil {
		s.refused++
		return v, err
	}
	for _, c := range b.Changes {
		s.writes++
		if s.written[c.ID] > knew {
			s.lost++
		}
		s.written[c.ID] = v.Number
	}
	return v, nil
}

// TestNoUpdateIsLost has three agents with leases of 20 ms, whose messages are late by more than that, change a few circuits all the time.
// Nothing is lost; with fencing turned off, something is, or the test would prove nothing.
func TestNoUpdateIsLost(t *testing.T) {
	total := map[bool]int{}
	for _, unfenced := range []bool{false, true} {
		for seed := range size[uint64](3, 1, 1) {
			synctest.Test(t, func(t *testing.T) {
				store := crowd(t, seed, unfenced)
				store.mu.Lock()
				defer store.mu.Unlock()
				total[unfenced] += store.lost
				t.Logf("unfenced %v, seed %d: %d records written, %d batches refused, %d updates lost", unfenced, seed, store.writes, store.refused, store.lost)
				if store.writes < crowdRounds()/3 || !unfenced && store.refused < crowdRounds()/30 {
					t.Error("got too few writes, or none that was refused: the test would prove nothing")
				}
			})
		}
	}
	if total[false] != 0 {
		t.Errorf("got %d lost updates, want 0", total[false])
	}
	if total[true] == 0 {
		t.Error("got no lost update with fencing turned off, want some: the test cannot fail")
	}
}

// crowdRounds is how many changes by hand a crowd makes.
func crowdRounds() int { return size(300, 40, 40) }

// crowd has three leaders of short leases and one hand at work on four circuits, for a quarter of a minute of the bubble's.
func crowd(t *testing.T, seed uint64, unfenced bool) *clerk {
	store := &clerk{MemoryStore: breaker.NewMemoryStore(), unfenced: unfenced, rng: rand.New(rand.NewPCG(seed, 1)), written: map[breaker.RecordID]uint64{}}
	keys := []breaker.Key{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	rng, hand := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 5))
	var mu sync.Mutex
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		mu.Lock()
		late := time.Duration(5+rng.IntN(40)) * time.Millisecond
		all := map[breaker.Key]breaker.PollResult{}
		for _, k := range keys {
			all[k] = breaker.PollResult{Failures: float64(rng.IntN(20)), Successes: float64(rng.IntN(5))}
		}
		mu.Unlock()
		time.Sleep(late)
		return all, nil
	}
	ms := time.Millisecond
	all := agents(t, 3, breaker.Config{
		Store: store, Poll: poll, SampleRate: 14 * ms, ObservabilityWindow: 60 * ms, BreakerTimeout: 20 * ms, StoreTimeout: 15 * ms, PollTimeout: 100 * ms,
		Notify: func(context.Context, breaker.Event) error { return nil },
	})
	stop := running(t, all...)
	for range crowdRounds() {
		k := keys[hand.IntN(len(keys))]
		switch m := all[hand.IntN(3)]; hand.IntN(4) {
		case 0:
			_ = m.Disable(t.Context(), k)
		default:
			_ = m.Enable(t.Context(), k)
		}
		time.Sleep(50 * ms)
	}
	stop()
	time.Sleep(time.Second)
	return store
}

// TestShardsAreWrittenWhole lets many circuits of few shards open in one round while the store fails now and then: of a shard's
// circuits all or none open.
func TestShardsAreWrittenWhole(t *testing.T) {
	store := newMeddler(breaker.NewMemoryStore())
	writes := 0
	store.before = only(func(context.Context) error {
		if writes++; writes%3 == 0 {
			return errNetwork
		}
		return nil
	}, "Apply")
	leader, other := agent(t, breaker.Config{Store: store, Poll: failingAll(300)}), agent(t, breaker.Config{Store: store})
	_ = leader.Sample(t.Context())
	if err := other.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var open, of [breaker.NumShards]int
	for i := range 300 {
		k := breaker.Key{ID: fmt.Sprint(i)}
		shard := k.RecordID().Shard()
		of[shard]++
		if other.Status(k).State == breaker.Open {
			open[shard]++
		}
	}
	whole, none := 0, 0
	for i := range of {
		switch open[i] {
		case of[i]:
			whole++
		case 0:
			none++
		default:
			t.Errorf("shard %d: got %d of %d circuits open, want all or none", i, open[i], of[i])
		}
	}
	if whole == 0 || none == 0 {
		t.Errorf("got %d shards written and %d not, want some of both", whole, none)
	}
}

// TestAnOldLeaderCanWriteNothing writes with the term of a leader whom another has followed, to every shard, also those that nobody has
// ever written: what is still on its way when the lease changes must not arrive.
func TestAnOldLeaderCanWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ctx := breaker.NewMemoryStore(), t.Context()
		old, err := store.Campaign(ctx, breaker.Candidate{Owner: "old", TTL: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		running(t, agent(t, breaker.Config{Store: store}))
		time.Sleep(time.Second)
		v, err := store.Versions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, version := range v.Shards {
			if _, err := store.Apply(ctx, breaker.Batch{Shard: i, Term: old.Term, Expect: version}); !errors.Is(err, breaker.ErrFenced) {
				t.Errorf("shard %d: got %v, want ErrFenced", i, err)
			}
		}
	})
}
