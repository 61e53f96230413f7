package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	breakerstore "github.com/spillway-go/spillway/throttle/breaker/store"
)

// fault is a way to break a rule, and the cases that must find it.
type fault struct {
	name  string
	found []string
	open  opener
}

// opener makes storage, as the argument of Run does.
type opener func(*recorder) func() breakerstore.Store

// broken is a memory store with a fault. Its funcs are the memory store's, unless the fault
// replaces them.
type broken struct {
	*breaker.MemoryStore
	campaign func(context.Context, breakerstore.Candidate) (breakerstore.Lease, error)
	resign   func(context.Context, breakerstore.Lease) error
	versions func(context.Context) (breakerstore.Versions, error)
	load     func(context.Context, []int) ([]breakerstore.Shard, error)
	apply    func(context.Context, breakerstore.Batch) (breakerstore.Version, error)
	probe    func(context.Context, []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error)
	watch    func(context.Context, func()) error
	closing  func() error
}

func newBroken(s *breaker.MemoryStore) *broken {
	return &broken{s, s.Campaign, s.Resign, s.Versions, s.Load, s.Apply, s.Probe, s.Watch, s.Close}
}

func (b *broken) Campaign(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
	return b.campaign(ctx, c)
}

func (b *broken) Resign(ctx context.Context, l breakerstore.Lease) error { return b.resign(ctx, l) }

func (b *broken) Versions(ctx context.Context) (breakerstore.Versions, error) { return b.versions(ctx) }

func (b *broken) Load(ctx context.Context, shards []int) ([]breakerstore.Shard, error) {
	return b.load(ctx, shards)
}

func (b *broken) Apply(ctx context.Context, batch breakerstore.Batch) (breakerstore.Version, error) {
	return b.apply(ctx, batch)
}

func (b *broken) Probe(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
	return b.probe(ctx, requests)
}

func (b *broken) Watch(ctx context.Context, changed func()) error { return b.watch(ctx, changed) }

func (b *broken) Close() error { return b.closing() }

// version returns a shard's true version.
func (b *broken) version(shard int) breakerstore.Version {
	v, _ := b.MemoryStore.Versions(context.Background())
	return v.Shards[shard]
}

// shared breaks a store for all its handles at once.
func shared(breakIt func(*broken)) opener {
	return func(*recorder) func() breakerstore.Store {
		b := newBroken(breaker.NewMemoryStore())
		breakIt(b)
		return func() breakerstore.Store { return b }
	}
}

// each breaks every handle by itself, with its number.
func each(breakIt func(b *broken, handle int)) opener {
	return func(*recorder) func() breakerstore.Store {
		store := breaker.NewMemoryStore()
		handles := 0
		return func() breakerstore.Store {
			b := newBroken(store)
			breakIt(b, handles)
			handles++
			return b
		}
	}
}

// releasing breaks every handle with something that lasts until the channel is closed, at the end
// of the case.
func releasing(breakIt func(b *broken, released <-chan struct{})) opener {
	return func(r *recorder) func() breakerstore.Store {
		released := make(chan struct{})
		r.Cleanup(func() { close(released) })
		return each(func(b *broken, _ int) { breakIt(b, released) })(r)
	}
}

// applying replaces Apply.
func applying(apply func(context.Context, *broken, breakerstore.Batch) (breakerstore.Version, error)) opener {
	return shared(func(b *broken) {
		b.apply = func(ctx context.Context, batch breakerstore.Batch) (breakerstore.Version, error) {
			return apply(ctx, b, batch)
		}
	})
}

// loading replaces Load.
func loading(load func(context.Context, *broken, []int) ([]breakerstore.Shard, error)) opener {
	return shared(func(b *broken) {
		b.load = func(ctx context.Context, shards []int) ([]breakerstore.Shard, error) { return load(ctx, b, shards) }
	})
}

// campaigning replaces Campaign.
func campaigning(campaign func(context.Context, *broken, breakerstore.Candidate) (breakerstore.Lease, error)) opener {
	return shared(func(b *broken) {
		b.campaign = func(ctx context.Context, c breakerstore.Candidate) (breakerstore.Lease, error) {
			return campaign(ctx, b, c)
		}
	})
}

// probing replaces Probe. It gets requests that it may change.
func probing(probe func(context.Context, *broken, []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error)) opener {
	return shared(func(b *broken) {
		b.probe = func(ctx context.Context, requests []breakerstore.ProbeRequest) ([]breakerstore.ProbeGrant, error) {
			return probe(ctx, b, slices.Clone(requests))
		}
	})
}

// moment lets a little time go by, in which other goroutines work.
func moment() { <-time.After(time.Microsecond) }

// recorder is a reporter that notes what a case reports.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	failures []string
	skipped  string
	cleanups []func()
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Context() context.Context { return r.ctx }

// record runs a case inside a bubble, where waiting takes no time, and returns what it reported.
func record(t *testing.T, c testCase, open opener) *recorder {
	t.Helper()
	r := &recorder{}
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		r.ctx = ctx
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.run(newRig(r, func() func() breakerstore.Store { return open(r) }))
		}()
		<-done
		cancel()
		for _, cleanup := range slices.Backward(r.cleanups) {
			cleanup()
		}
	})
	return r
}

var errBroken = errors.New("broken")
