package breaker_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestALongOutageThatEndsEmpty has an outage longer than MaxStale, after which the store is empty.
// What was disabled stays disabled.
func TestALongOutageThatEndsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken fault
		store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}
		store.before = broken.meddle
		m := agent(t, breaker.Config{Store: store, OnStale: breaker.KeepLast, Poll: polled(breaker.PollResult{})})
		must(t, m.Disable(t.Context(), k))
		running(t, m)
		time.Sleep(5 * time.Second)
		broken.set(errNetwork)
		time.Sleep(10 * time.Minute)
		store.flush()
		broken.err.Store(nil)
		time.Sleep(10 * time.Second)
		if err, lost := m.CanExecute(t.Context(), k), m.Stats().Errors.Of(breaker.RecordsLost); !errors.Is(err, breaker.ErrDisabled) || lost != 1 {
			t.Errorf("got %v and %d losses reported, want ErrDisabled and 1", err, lost)
		}
	})
}

// past is a store that can return to an earlier time, as a replica does that takes over before it has
// replicated everything. In a synctest bubble no time passes meanwhile: the replica has the same epochs.
type past struct {
	*meddler
	batches []store.Batch
}

// failOver goes back to the time before the last writes.
func (p *past) failOver(t *testing.T, lost int) {
	t.Helper()
	var replica store.Store = breaker.NewMemoryStore()
	p.batches = p.batches[:len(p.batches)-lost]
	for _, b := range p.batches {
		v, err := replica.Versions(t.Context())
		must(t, err)
		b.Term, b.Expect = 0, v.Shards[b.Shard]
		if _, err := replica.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	p.inner.Store(&replica)
}

func newPast() *past {
	p := &past{meddler: newMeddler(breaker.NewMemoryStore())}
	p.batch = func(b *store.Batch) {
		if len(b.Changes) > 0 {
			p.batches = append(p.batches, *b)
		}
	}
	return p
}

// TestAFailOverToAnOlderState loses the last writes: a manager that has read them writes them back.
func TestAFailOverToAnOlderState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store, k := t.Context(), newPast(), keysOfShard(7, 4)
		a, b := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
		err := errors.Join(a.Disable(ctx, k[0]), a.Disable(ctx, k[1]), a.ForceOpen(ctx, k[2]), a.Enable(ctx, k[1]), b.Refresh(ctx))
		must(t, err)
		store.failOver(t, 3)
		late := agent(t, breaker.Config{Store: store})
		must(t, b.Refresh(ctx), a.Refresh(ctx), late.Refresh(ctx))
		for name, m := range map[string]*breaker.Manager{"writer": a, "reader": b, "later manager": late} {
			for i, want := range []breaker.State{breaker.Disabled, breaker.Closed, breaker.Open} {
				wantState(t, m, k[i], want, name)
			}
		}
	})
}

// TestAFailOverIsNotOverlooked has other managers write after the failover until the shard's number is what it was: a manager that has not
// refreshed meanwhile must learn of it all the same.
func TestAFailOverIsNotOverlooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store, k := t.Context(), newPast(), keysOfShard(7, 4)
		c := breaker.Config{Store: store, Poll: polled(breaker.PollResult{})}
		a, b := agent(t, c), agent(t, c)
		must(t, a.Disable(ctx, k[0]), a.Disable(ctx, k[1]), a.Disable(ctx, k[2]), b.Refresh(ctx))
		store.failOver(t, 2)
		must(t, a.Refresh(ctx), a.Disable(ctx, k[3]))
		running(t, b)
		time.Sleep(2 * time.Minute)
		wants(t, b.CanExecute(ctx, k[3]), breaker.ErrDisabled, "from an agent two minutes after the circuit was disabled")
	})
}

// sieve is a store from which records vanish, while the versions of their shards stay, as when rows of a table are deleted by hand.
type sieve struct {
	*meddler
	mu   sync.Mutex
	gone map[store.RecordID]bool // until they are written again
}

func (s *sieve) vanish(keys ...breaker.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		s.gone[k.RecordID()] = true
	}
}

func newSieve() *sieve {
	s := &sieve{meddler: newMeddler(breaker.NewMemoryStore()), gone: map[store.RecordID]bool{}}
	s.batch = func(b *store.Batch) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range b.Changes {
			delete(s.gone, c.ID)
		}
	}
	s.answer = func(pointer any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if loaded, ok := pointer.(*[]store.Shard); ok {
			for i := range *loaded {
				(*loaded)[i].Records = slices.DeleteFunc((*loaded)[i].Records, func(r store.StoredRecord) bool { return s.gone[r.ID] })
			}
		}
	}
	return s
}

// TestLostRecordsComeBack empties the store under three agents at any moment, again and again, or
// deletes all records but not the versions of their shards. No agent goes by less than it knew, and
// an agent that comes later finds the records in the store.
func TestLostRecordsComeBack(t *testing.T) {
	for name, tt := range map[string]struct {
		lose  func(store *sieve, keys map[string]breaker.Key)
		times int
		wait  time.Duration // a shard of the same version is read once in 64 refreshes
	}{
		"flush": {func(store *sieve, _ map[string]breaker.Key) { store.flush() }, 5, 3 * time.Second},
		"vanish": {func(store *sieve, keys map[string]breaker.Key) {
			for _, k := range keys {
				store.vanish(k)
			}
		}, 1, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range size(10, 10, 3) {
				synctest.Test(t, func(t *testing.T) { lost(t, i, tt.times, tt.wait, tt.lose) })
			}
		})
	}
}

func lost(t *testing.T, phase, times int, wait time.Duration, lose func(*sieve, map[string]breaker.Key)) {
	store, reported := newSieve(), uint64(0)
	keys := circuitsByHand(t, store)
	delete(keys, "open")
	all := agents(t, 3, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
	running(t, all...)
	time.Sleep(2*time.Second + time.Duration(phase)*30*time.Second + time.Duration(phase)*97*time.Millisecond)
	want := map[string]error{"disabled": breaker.ErrDisabled, "forced open": breaker.ErrOpen}
	for range times {
		lose(store, keys)
		for range 30 {
			time.Sleep(wait / 30)
			for _, m := range all {
				answers(t, "lost", m, keys, want)
			}
		}
	}
	late := agent(t, breaker.Config{Store: store})
	must(t, late.Refresh(t.Context()))
	answers(t, "later", late, keys, want)
	for _, m := range all {
		reported += m.Stats().Errors.Of(breaker.RecordsLost)
	}
	if reported == 0 {
		t.Error("got no lost records reported, want some")
	}
}

// TestRecordsThatVanishBeforeAWriteComeBack has a manager that never read them write to the shard, so that its version increases.
func TestRecordsThatVanishBeforeAWriteComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, ctx := newSieve(), keysOfShard(7, 4), t.Context()
		circuits := map[string]breaker.Key{"disabled": k[0], "open": k[1], "forced closed": k[2]}
		first := agent(t, breaker.Config{Store: store, Poll: polls(func() results { return results{k[1]: {Failures: 20}} })})
		must(t, first.Sample(ctx), first.Disable(ctx, k[0]), first.ForceClose(ctx, k[2]))
		store.vanish(k...)
		second := agent(t, breaker.Config{Store: store})
		time.Sleep(time.Second)
		must(t, second.Disable(ctx, k[3]), first.Refresh(ctx), second.Refresh(ctx))
		want := map[string]error{"disabled": breaker.ErrDisabled, "open": breaker.ErrOpen}
		for name, m := range map[string]*breaker.Manager{"has read it": first, "has not read it": second} {
			answers(t, name, m, circuits, want)
			if !m.Status(k[2]).Forced || m.Status(k[3]).State != breaker.Disabled {
				t.Errorf("%s: got %+v and %+v, want one held closed and one disabled", name, m.Status(k[2]), m.Status(k[3]))
			}
		}
	})
}

// TestRecordsOfALaterVersionAreLeftAlone has a later version of the package write over a record that was known: it has not vanished.
func TestRecordsOfALaterVersionAreLeftAlone(t *testing.T) {
	store, k, ctx := breaker.NewMemoryStore(), breaker.Key{ID: "a"}, t.Context()
	m := agent(t, breaker.Config{Store: store})
	must(t, m.Disable(ctx, k))
	put(t, store, k, `{"v":2}`)
	must(t, m.Refresh(ctx))
	if r := stored(t, store, k); len(r) != 1 || !strings.HasPrefix(string(r[0].Data), `{"v":2`) {
		t.Errorf("got %q, want what the later version wrote", r)
	}
}
