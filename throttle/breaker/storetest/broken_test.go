package storetest

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// broken is a memory store that breaks a rule: what is nil works as it should.
type broken struct {
	*breaker.MemoryStore
	campaign func(context.Context, breaker.Candidate) (breaker.Lease, error)
	resign   func(context.Context, breaker.Lease) error
	versions func(context.Context) (breaker.Versions, error)
	load     func(context.Context, []int) ([]breaker.Shard, error)
	apply    func(context.Context, breaker.Batch) (breaker.Version, error)
	probe    func(context.Context, []breaker.ProbeRequest) ([]breaker.ProbeGrant, error)
	watch    func(context.Context, func()) error
	closing  func() error
}

func (b *broken) Campaign(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
	if b.campaign != nil {
		return b.campaign(ctx, c)
	}
	return b.MemoryStore.Campaign(ctx, c)
}

func (b *broken) Resign(ctx context.Context, l breaker.Lease) error {
	if b.resign != nil {
		return b.resign(ctx, l)
	}
	return b.MemoryStore.Resign(ctx, l)
}

func (b *broken) Versions(ctx context.Context) (breaker.Versions, error) {
	if b.versions != nil {
		return b.versions(ctx)
	}
	return b.MemoryStore.Versions(ctx)
}

func (b *broken) Load(ctx context.Context, shards []int) ([]breaker.Shard, error) {
	if b.load != nil {
		return b.load(ctx, shards)
	}
	return b.MemoryStore.Load(ctx, shards)
}

func (b *broken) Apply(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
	if b.apply != nil {
		return b.apply(ctx, batch)
	}
	return b.MemoryStore.Apply(ctx, batch)
}

func (b *broken) Probe(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
	if b.probe != nil {
		return b.probe(ctx, requests)
	}
	return b.MemoryStore.Probe(ctx, requests)
}

func (b *broken) Watch(ctx context.Context, changed func()) error {
	if b.watch != nil {
		return b.watch(ctx, changed)
	}
	return b.MemoryStore.Watch(ctx, changed)
}

func (b *broken) Close() error {
	if b.closing != nil {
		return b.closing()
	}
	return b.MemoryStore.Close()
}

// version returns a shard's true version.
func (b *broken) version(shard int) breaker.Version {
	v, _ := b.MemoryStore.Versions(context.Background())
	return v.Shards[shard]
}

// mutant is a way to be broken, and the cases that must find it.
type mutant struct {
	name  string
	found []string
	open  func(*recorder) func() breaker.Store
}

// shared breaks a store for all its handles at once.
func shared(breakIt func(*broken)) func(*recorder) func() breaker.Store {
	return func(*recorder) func() breaker.Store {
		b := &broken{MemoryStore: breaker.NewMemoryStore()}
		breakIt(b)
		return func() breaker.Store { return b }
	}
}

// each breaks every handle anew, and tells it its number.
func each(breakIt func(b *broken, handle int)) func(*recorder) func() breaker.Store {
	return func(*recorder) func() breaker.Store {
		store := breaker.NewMemoryStore()
		handles := 0
		return func() breaker.Store {
			b := &broken{MemoryStore: store}
			breakIt(b, handles)
			handles++
			return b
		}
	}
}

// moment lets a little time go by, in which others work.
func moment() { <-time.After(time.Microsecond) }

func mutants() []mutant {
	return slices.Concat(leaseMutants(), versionMutants(), clockMutants(), loadMutants(), dataMutants(),
		batchMutants(), fenceMutants(), raceMutants(), probeMutants(), budgetMutants(), contextMutants(), handleMutants())
}

// TestBrokenStoresAreFound breaks a store in every way that a case is there to find, and wants that case to fail.
func TestBrokenStoresAreFound(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			for _, name := range m.found {
				t.Run(name, func(t *testing.T) {
					r := record(t, caseNamed(t, name), m.open)
					if len(r.failures) == 0 {
						t.Errorf("got no failure (skipped: %q), want this case to find that a store %s", r.skipped, m.name)
						return
					}
					t.Logf("found: %s", r.failures[0])
				})
			}
		})
	}
}

// TestEveryCaseFindsSomething wants no case that no broken store fails.
func TestEveryCaseFindsSomething(t *testing.T) {
	idle := map[string]bool{}
	for _, g := range groups() {
		for _, c := range g.cases {
			idle[g.name+"/"+c.name] = true
		}
	}
	for _, m := range mutants() {
		for _, name := range m.found {
			delete(idle, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		t.Errorf("case %q: no broken store is there for it to find", name)
	}
}

// TestMemoryStoreInBubble runs the suite as broken stores are run, on one that is not.
func TestMemoryStoreInBubble(t *testing.T) {
	open := shared(func(*broken) {})
	for _, g := range groups() {
		for _, c := range g.cases {
			t.Run(g.name+"/"+c.name, func(t *testing.T) {
				if r := record(t, c, open); len(r.failures) > 0 || r.skipped != "" {
					t.Errorf("got failures %q (skipped: %q), want none", r.failures, r.skipped)
				}
			})
		}
	}
}
