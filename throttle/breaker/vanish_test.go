package breaker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// sieve is a store from which records vanish, while the versions of their shards stay, as when somebody deletes the rows of a table.
type sieve struct {
	*meddler
	mu   sync.Mutex
	gone map[breaker.RecordID]bool // until they are written again
}

func newSieve() *sieve {
	s := &sieve{meddler: newMeddler(breaker.NewMemoryStore()), gone: map[breaker.RecordID]bool{}}
	s.batch = func(b *breaker.Batch) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range b.Changes {
			delete(s.gone, c.ID)
		}
	}
	return s
}

func (s *sieve) vanish(keys ...breaker.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		s.gone[k.RecordID()] = true
	}
}

func (s *sieve) Load(ctx context.Context, shards []int) ([]breaker.Shard, error) {
	loaded, err := s.meddler.Load(ctx, shards)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range loaded {
		loaded[i].Records = slices.DeleteFunc(loaded[i].Records, func(r breaker.StoredRecord) bool { return s.gone[r.ID] })
	}
	return loaded, err
}

// TestRecordsThatVanishComeBack deletes all records under three agents, but not the versions of their shards.
func TestRecordsThatVanishComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSieve()
		keys := circuitsByHand(t, store)
		delete(keys, "open")
		all := agents(t, 3, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		running(t, all...)
		time.Sleep(2 * time.Second)
		for _, k := range keys {
			store.vanish(k)
		}
		want := map[string]error{"disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
		for range 90 {
			time.Sleep(time.Second)
			for _, m := range all {
				answers(t, "vanished", m, keys, want)
			}
		}
		late, told := agent(t, breaker.Config{Store: store}), uint64(0)
		if err := late.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		answers(t, "who comes later", late, keys, want)
		for _, m := range all {
			told += m.Stats().Failures[breaker.RecordsLost]
		}
		if told == 0 {
			t.Error("got no word of lost records, want some")
		}
	})
}

// TestTripsThatVanishComeBack deletes the record of a circuit that is closed and has tripped, and lets nobody write.
func TestTripsThatVanishComeBack(t *testing.T) {
	store, k, ctx := newSieve(), breaker.Key{ID: "a"}, t.Context()
	put(t, store, k, `{"v":1,"id":"a","state":"closed","trips":3,"generation":9,"reason":"recovered","changed_at":1,"failures":0,"successes":0}`)
	m, late := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
	if err := m.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	store.vanish(k)
	for range 64 {
		if err := m.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := late.Refresh(ctx); err != nil || m.Status(k).Trips != 3 || late.Status(k).Trips != 3 {
		t.Errorf("got %d trips, and %d for who comes later, error %v, want 3 after 64 refreshes", m.Status(k).Trips, late.Status(k).Trips, err)
	}
}

// TestRecordsThatVanishBeforeAWriteComeBack has somebody who has never known of them write to the shard, so that its version rises.
func TestRecordsThatVanishBeforeAWriteComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, ctx := newSieve(), sameShard(4), t.Context()
		circuits := map[string]breaker.Key{"disabled": k[0], "open": k[1], "forced closed": k[2]}
		first := agent(t, breaker.Config{Store: store, Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			return map[breaker.Key]breaker.PollResult{k[1]: {Failures: 20}}, nil
		}})
		if err := errors.Join(first.Sample(ctx), first.Disable(ctx, k[0]), first.ForceClose(ctx, k[2])); err != nil {
			t.Fatal(err)
		}
		store.vanish(k...)
		second := agent(t, breaker.Config{Store: store})
		time.Sleep(time.Second)
		if err := errors.Join(second.Disable(ctx, k[3]), first.Refresh(ctx), second.Refresh(ctx)); err != nil {
			t.Fatal(err)
		}
		want := map[string]error{"disabled": breaker.ErrDisabled, "open": breaker.ErrOpen}
		for name, m := range map[string]*breaker.Manager{"who knew": first, "who did not": second} {
			answers(t, name, m, circuits, want)
			if !m.Status(k[2]).Forced || m.Status(k[3]).State != breaker.Disabled {
				t.Errorf("%s: got %+v and %+v, want one held closed and one disabled", name, m.Status(k[2]), m.Status(k[3]))
			}
		}
	})
}

// TestWhatIsForgottenStaysForgotten forgets one circuit and enables another: neither comes back from agents that knew of them, while their records
// are in the store and after.
func TestWhatIsForgottenStaysForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, ctx := breaker.NewMemoryStore(), sameShard(2), t.Context()
		all := agents(t, 3, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		running(t, all...)
		if err := errors.Join(all[0].Disable(ctx, k[0]), all[0].Disable(ctx, k[1])); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := errors.Join(all[1].Forget(ctx, k[0]), all[2].Enable(ctx, k[1])); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for range 90 {
			for i, m := range all {
				if m.CanExecute(ctx, k[0]) != nil || m.CanExecute(ctx, k[1]) != nil || m.Status(k[0]) != (breaker.Status{Key: k[0]}) {
					t.Fatalf("agent %d: got %+v of what was forgotten and %+v of what was enabled, want nothing and closed", i, m.Status(k[0]), m.Status(k[1]))
				}
			}
			time.Sleep(time.Second)
		}
		loaded, err := store.Load(ctx, []int{7})
		if err != nil || len(loaded[0].Records) != 0 {
			t.Errorf("got %d records, error %v, want none in the end", len(loaded[0].Records), err)
		}
	})
}

// TestRecordsOfALaterVersionAreLeftAlone has a later version of the package write over a record that was known: it has not vanished.
func TestRecordsOfALaterVersionAreLeftAlone(t *testing.T) {
	store, k, ctx := breaker.NewMemoryStore(), breaker.Key{ID: "a"}, t.Context()
	m := agent(t, breaker.Config{Store: store})
	if err := m.Disable(ctx, k); err != nil {
		t.Fatal(err)
	}
	shard := put(t, store, k, `{"v":2}`)
	if err := m.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	loaded, err := store.Load(ctx, []int{shard})
	if err != nil || len(loaded[0].Records) != 1 || !strings.HasPrefix(string(loaded[0].Records[0].Data), `{"v":2`) {
		t.Errorf("got %q, error %v, want what the later version wrote", loaded[0].Records, err)
	}
}

// TestACircuitThatIsForgottenByItselfIsNotGivenBack leaves an open circuit without calls for Retention: its record goes, and no agent
// that refreshes seldom brings it back.
func TestACircuitThatIsForgottenByItselfIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		c := breaker.Config{Store: newMeddler(breaker.NewMemoryStore()), Poll: f.poll, Retention: 10 * time.Minute, Refresh: 20 * time.Second}
		all := agents(t, 3, c)
		running(t, all...)
		f.during(t.Context(), 30*time.Second, 20, k, 1, all...)
		time.Sleep(15 * time.Minute)
		for i, m := range all {
			if s := m.Stats(); len(m.List()) != 0 || s.Failures[breaker.RecordsLost] != 0 {
				t.Errorf("agent %d: got %v known and %d losses told, want none", i, m.List(), s.Failures[breaker.RecordsLost])
			}
		}
	})
}
