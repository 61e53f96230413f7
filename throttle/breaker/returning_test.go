package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestAPermitKeepsItsState asks permits that have ended, while their tickets are used for other calls.
func TestAPermitKeepsItsState(t *testing.T) {
	m, ctx := agent(t, breaker.Config{DryRun: true}), t.Context()
	disabled, closed := breaker.Key{ID: "disabled"}, breaker.Key{ID: "closed"}
	if err := m.Disable(ctx, disabled); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for range 100 {
		ended, err := m.Circuit(disabled).Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ended.Done(nil)
		other, err := m.Circuit(closed).Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ended.State() != breaker.Disabled {
			wrong++
		}
		other.Done(nil)
	}
	if wrong > 0 {
		t.Errorf("%d of 100 permits told the state of somebody else's call after their end, want their own", wrong)
	}
}

// TestHalfOpenMaxOutlastsNotes has a HalfOpenMax that is longer than the steps in which calls are noted, an eighth of Retention.
func TestHalfOpenMaxOutlastsNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		m := agent(t, breaker.Config{
			Poll: f.poll, ObservabilityWindow: 3 * time.Minute, HalfOpenMax: 3 * time.Minute, Retention: 10 * time.Minute, HalfOpenProbes: 10,
		})
		running(t, m)
		f.during(t.Context(), 6*time.Second, 20, k, 1, m)
		eventually(t, 31*time.Second, "it is half-open", inState(k, breaker.HalfOpen, m))
		for range 16 {
			f.end(k, true)
			time.Sleep(15 * time.Second)
		}
		if s := m.Status(k); s.Trips < 2 {
			t.Errorf("got state %v with %d trips four minutes after the first failing probe, want HalfOpenMax, 3 min, to have decided", s.State, s.Trips)
		}
	})
}

// past is a store that can return to an earlier time, as a replica does that takes over before it has heard everything.
type past struct {
	*meddler
	batches []breaker.Batch
}

func newPast() *past {
	p := &past{meddler: newMeddler(breaker.NewMemoryStore())}
	p.batch = func(b *breaker.Batch) {
		if len(b.Changes) > 0 {
			p.batches = append(p.batches, *b)
		}
	}
	return p
}

// Versions and Load hide that the replica's memory was made later: its epochs are the same.
func (p *past) Versions(ctx context.Context) (breaker.Versions, error) {
	v, err := p.meddler.Versions(ctx)
	for i := range v.Shards {
		v.Shards[i] = p.hidden(v.Shards[i])
	}
	return v, err
}

func (p *past) hidden(v breaker.Version) breaker.Version {
	if v.Epoch != 0 {
		v.Epoch = 1
	}
	return v
}

func (p *past) Load(ctx context.Context, shards []int) ([]breaker.Shard, error) {
	loaded, err := p.meddler.Load(ctx, shards)
	for i := range loaded {
		loaded[i].Version = p.hidden(loaded[i].Version)
	}
	return loaded, err
}

func (p *past) Apply(ctx context.Context, b breaker.Batch) (breaker.Version, error) {
	if b.Expect.Epoch == 1 {
		v, err := (*p.inner.Load()).Versions(ctx)
		if err != nil {
			return breaker.Version{}, err
		}
		b.Expect.Epoch = v.Shards[b.Shard].Epoch
	}
	v, err := p.meddler.Apply(ctx, b)
	return p.hidden(v), err
}

// failOver goes back to the time before the last writes.
func (p *past) failOver(t *testing.T, lost int) {
	t.Helper()
	var replica breaker.Store = breaker.NewMemoryStore()
	p.batches = p.batches[:len(p.batches)-lost]
	for _, b := range p.batches {
		v, err := replica.Versions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Term, b.Expect = 0, v.Shards[b.Shard]
		if _, err := replica.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	p.inner.Store(&replica)
}

// sameShard returns keys whose records lie in one shard.
func sameShard(n int) []breaker.Key {
	var keys []breaker.Key
	for i := 0; len(keys) < n; i++ {
		if k := (breaker.Key{ID: string(rune(i))}); k.RecordID().Shard() == 7 {
			keys = append(keys, k)
		}
	}
	return keys
}

// TestAFailOverToAnOlderState loses the last writes: who knows of them gives them back.
func TestAFailOverToAnOlderState(t *testing.T) {
	ctx, store, k := t.Context(), newPast(), sameShard(4)
	a, b := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
	err := errors.Join(a.Disable(ctx, k[0]), a.Disable(ctx, k[1]), a.ForceOpen(ctx, k[2]), a.Enable(ctx, k[1]), b.Refresh(ctx))
	if err != nil {
		t.Fatal(err)
	}
	store.failOver(t, 3)
	late := agent(t, breaker.Config{Store: store})
	if err := errors.Join(b.Refresh(ctx), a.Refresh(ctx), late.Refresh(ctx)); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*breaker.Manager{"writer": a, "reader": b, "who comes later": late} {
		for i, want := range []breaker.State{breaker.Disabled, breaker.Closed, breaker.Open} {
			if s := m.Status(k[i]).State; s != want {
				t.Errorf("%s: circuit %d: got state %v, want %v", name, i, s, want)
			}
		}
	}
}

// TestAFailOverIsNotOverlooked has others write after the fail-over until the shard's number is what it was: an agent who has not
// refreshed meanwhile must learn of it all the same.
func TestAFailOverIsNotOverlooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store, k := t.Context(), newPast(), sameShard(4)
		c := breaker.Config{Store: store, Poll: polled(breaker.PollResult{})}
		a, b := agent(t, c), agent(t, c)
		if err := errors.Join(a.Disable(ctx, k[0]), a.Disable(ctx, k[1]), a.Disable(ctx, k[2]), b.Refresh(ctx)); err != nil {
			t.Fatal(err)
		}
		store.failOver(t, 2)
		if err := errors.Join(a.Refresh(ctx), a.Disable(ctx, k[3])); err != nil {
			t.Fatal(err)
		}
		running(t, b)
		time.Sleep(2 * time.Minute)
		if err := b.CanExecute(ctx, k[3]); !errors.Is(err, breaker.ErrDisabled) {
			t.Errorf("got %v from an agent two minutes after the circuit was disabled, want ErrDisabled", err)
		}
	})
}
