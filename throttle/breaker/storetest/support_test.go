package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

type (
	opener = kit.Opener[store.Store]
	fault  = kit.Fault[store.Store]
)

// broken is a memory store with a fault. Its funcs are those of the memory store unless a fault
// replaces them.
type broken struct {
	*breaker.MemoryStore
	campaign func(context.Context, store.Candidate) (store.Lease, error)
	resign   func(context.Context, store.Lease) error
	versions func(context.Context) (store.Versions, error)
	load     func(context.Context, []int) ([]store.Shard, error)
	apply    func(context.Context, store.Batch) (store.Version, error)
	probe    func(context.Context, []store.ProbeRequest) ([]store.ProbeGrant, error)
	watch    func(context.Context, func()) error
	closing  func() error
}

func newBroken(s *breaker.MemoryStore) *broken {
	return &broken{s, s.Campaign, s.Resign, s.Versions, s.Load, s.Apply, s.Probe, s.Watch, s.Close}
}

func (b *broken) Campaign(ctx context.Context, c store.Candidate) (store.Lease, error) {
	return b.campaign(ctx, c)
}

func (b *broken) Resign(ctx context.Context, l store.Lease) error { return b.resign(ctx, l) }

func (b *broken) Versions(ctx context.Context) (store.Versions, error) { return b.versions(ctx) }

func (b *broken) Load(ctx context.Context, shards []int) ([]store.Shard, error) {
	return b.load(ctx, shards)
}

func (b *broken) Apply(ctx context.Context, batch store.Batch) (store.Version, error) {
	return b.apply(ctx, batch)
}

func (b *broken) Probe(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
	return b.probe(ctx, requests)
}

func (b *broken) Watch(ctx context.Context, changed func()) error { return b.watch(ctx, changed) }

func (b *broken) Close() error { return b.closing() }

// version returns a shard's true version.
func (b *broken) version(shard int) store.Version {
	v, _ := b.MemoryStore.Versions(context.Background())
	return v.Shards[shard]
}

// shared breaks a store for all handles.
func shared(breakIt func(*broken)) opener {
	return func(*kit.Recorder) func() store.Store {
		b := newBroken(breaker.NewMemoryStore())
		breakIt(b)
		return func() store.Store { return b }
	}
}

// each breaks every handle by its number.
func each(breakIt func(b *broken, handle int)) opener {
	return func(*kit.Recorder) func() store.Store {
		memory := breaker.NewMemoryStore()
		handles := 0
		return func() store.Store {
			b := newBroken(memory)
			breakIt(b, handles)
			handles++
			return b
		}
	}
}

// releasing breaks every handle with a channel that is closed when the case ends.
func releasing(breakIt func(b *broken, ended <-chan struct{})) opener {
	return func(r *kit.Recorder) func() store.Store {
		return each(func(b *broken, _ int) { breakIt(b, r.Context().Done()) })(r)
	}
}

// applying replaces Apply.
func applying(apply func(context.Context, *broken, store.Batch) (store.Version, error)) opener {
	return shared(func(b *broken) {
		b.apply = func(ctx context.Context, batch store.Batch) (store.Version, error) {
			return apply(ctx, b, batch)
		}
	})
}

// loading replaces Load.
func loading(load func(context.Context, *broken, []int) ([]store.Shard, error)) opener {
	return shared(func(b *broken) {
		b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) { return load(ctx, b, shards) }
	})
}

// campaigning replaces Campaign.
func campaigning(campaign func(context.Context, *broken, store.Candidate) (store.Lease, error)) opener {
	return shared(func(b *broken) {
		b.campaign = func(ctx context.Context, c store.Candidate) (store.Lease, error) {
			return campaign(ctx, b, c)
		}
	})
}

// probing replaces Probe. The func may modify the requests.
func probing(probe func(context.Context, *broken, []store.ProbeRequest) ([]store.ProbeGrant, error)) opener {
	return shared(func(b *broken) {
		b.probe = func(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
			return probe(ctx, b, slices.Clone(requests))
		}
	})
}

// yield lets other goroutines work.
func yield() { <-time.After(time.Microsecond) }

var errBroken = errors.New("broken")
