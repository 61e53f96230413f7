package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

const (
	canceledBefore = "context/canceled before"
	pastDeadline   = "context/past its deadline"
	watchEndsCase  = "watch/ends with its context"
)

func contextMutants() []mutant {
	both := []string{canceledBefore, pastDeadline}
	return []mutant{
		{"does not look at the context of Campaign", both, shared(func(b *broken) {
			b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
				return b.MemoryStore.Campaign(context.WithoutCancel(ctx), c)
			}
		})},
		{"does not look at the context of Resign", both, shared(func(b *broken) {
			b.resign = func(ctx context.Context, l breaker.Lease) error {
				return b.MemoryStore.Resign(context.WithoutCancel(ctx), l)
			}
		})},
		{"does not look at the context of Versions", both, shared(func(b *broken) {
			b.versions = func(ctx context.Context) (breaker.Versions, error) {
				return b.MemoryStore.Versions(context.WithoutCancel(ctx))
			}
		})},
		{"does not look at the context of Load", both, shared(func(b *broken) {
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				return b.MemoryStore.Load(context.WithoutCancel(ctx), shards)
			}
		})},
		{"writes although the context is over", both, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				v, err := b.MemoryStore.Apply(context.WithoutCancel(ctx), batch)
				return v, errors.Join(err, ctx.Err())
			}
		})},
		{"grants although the context is over", both, shared(func(b *broken) {
			b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
				grants, err := b.MemoryStore.Probe(context.WithoutCancel(ctx), requests)
				return grants, errors.Join(err, ctx.Err())
			}
		})},
		{"hangs when the context is over", both, func(r *recorder) func() breaker.Store {
			b := &broken{MemoryStore: breaker.NewMemoryStore()}
			release := make(chan struct{})
			r.Cleanup(func() { close(release) })
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				if ctx.Err() != nil {
					<-release
				}
				return b.MemoryStore.Load(ctx, shards)
			}
			return func() breaker.Store { return b }
		}},
		{"acknowledges what was canceled", []string{"context/canceled meanwhile"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				<-time.After(time.Millisecond)
				if ctx.Err() != nil {
					return batch.Expect, nil
				}
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"takes an answer for that to another question", []string{"context/canceled meanwhile"}, shared(func(b *broken) {
			var late atomic.Bool
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				select {
				case <-time.After(time.Millisecond):
				case <-ctx.Done():
					late.Store(true)
					return nil, ctx.Err()
				}
				if late.Swap(false) {
					return nil, nil
				}
				return b.MemoryStore.Load(ctx, shards)
			}
		})},
	}
}

func handleMutants() []mutant {
	const hears, several = "watch/hears changes of another handle", "watch/several at once"
	return []mutant{
		{"tells no watcher", []string{hears, watchEndsCase, several}, shared(func(b *broken) {
			b.watch = func(ctx context.Context, _ func()) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})},
		{"ends watching at the first change", []string{hears, several}, shared(func(b *broken) {
			b.watch = func(ctx context.Context, changed func()) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				return b.MemoryStore.Watch(ctx, func() {
					changed()
					cancel()
				})
			}
		})},
		{"watches for ever", []string{watchEndsCase}, func(r *recorder) func() breaker.Store {
			b := &broken{MemoryStore: breaker.NewMemoryStore()}
			ctx, cancel := context.WithCancel(context.Background())
			r.Cleanup(cancel)
			b.watch = func(_ context.Context, changed func()) error { return b.MemoryStore.Watch(ctx, changed) }
			return func() breaker.Store { return b }
		}},
		{"has one watcher at once", []string{several}, shared(func(b *broken) {
			var busy atomic.Bool
			b.watch = func(ctx context.Context, changed func()) error {
				if !busy.CompareAndSwap(false, true) {
					<-ctx.Done()
					return ctx.Err()
				}
				defer busy.Store(false)
				return b.MemoryStore.Watch(ctx, changed)
			}
		})},
		{"closes all handles with one", []string{"handle/Close leaves others alone", "handle/Close twice is fine"}, closesAll()},
		{"cannot be closed twice", []string{"handle/Close twice is fine"}, each(func(b *broken, _ int) {
			var closed atomic.Bool
			b.closing = func() error {
				if closed.Swap(true) {
					return errors.New("already closed")
				}
				return nil
			}
		})},
		{"leaves goroutines behind calls", []string{"handle/use leaves no goroutine"}, leaves(func(b *broken, begin func()) {
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				if ctx.Err() != nil {
					begin()
				}
				return b.MemoryStore.Load(ctx, shards)
			}
		})},
		{"leaves goroutines behind handles", []string{"handle/Close leaves no goroutine"}, leaves(func(_ *broken, begin func()) { begin() })},
	}
}

func closesAll() func(*recorder) func() breaker.Store {
	return func(*recorder) func() breaker.Store {
		store := breaker.NewMemoryStore()
		var closed atomic.Bool
		return func() breaker.Store {
			b := &broken{MemoryStore: store}
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				if closed.Load() {
					return nil, errors.New("client is closed")
				}
				return store.Load(ctx, shards)
			}
			b.closing = func() error {
				closed.Store(true)
				return nil
			}
			return b
		}
	}
}

// leaves makes handles that begin goroutines, which end with the test.
func leaves(breakIt func(b *broken, begin func())) func(*recorder) func() breaker.Store {
	return func(r *recorder) func() breaker.Store {
		store, release := breaker.NewMemoryStore(), make(chan struct{})
		r.Cleanup(func() { close(release) })
		return func() breaker.Store {
			b := &broken{MemoryStore: store}
			breakIt(b, func() { go func() { <-release }() })
			return b
		}
	}
}
