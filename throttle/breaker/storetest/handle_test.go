package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func watchFaults() []fault {
	const ends, several = "watch/ends with its context", "watch/several watchers"
	return []fault{
		{"reports no change", []string{several}, shared(func(b *broken) {
			b.watch = func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() }
		})},
		{"watches after its context has ended", []string{ends}, releasing(func(b *broken, released <-chan struct{}) {
			b.watch = func(_ context.Context, changed func()) error {
				ctx, cancel := context.WithCancel(context.Background())
				go func() { <-released; cancel() }()
				return b.MemoryStore.Watch(ctx, changed)
			}
		})},
		{"allows one watcher", []string{several}, shared(func(b *broken) {
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
	}
}

func handleFaults() []fault {
	return []fault{
		{"closes all handles with one", []string{"handle/Close keeps other handles"}, shared(func(b *broken) {
			var closed atomic.Bool
			b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
				if closed.Load() {
					return nil, errBroken
				}
				return b.MemoryStore.Load(ctx, shards)
			}
			b.closing = func() error { closed.Store(true); return nil }
		})},
		{"cannot be closed twice", []string{"handle/Close twice"}, each(func(b *broken, _ int) {
			var closed atomic.Bool
			b.closing = func() error {
				if closed.Swap(true) {
					return errBroken
				}
				return nil
			}
		})},
		{"leaves goroutines behind calls", []string{"handle/calls leave no goroutine"}, releasing(func(b *broken, released <-chan struct{}) {
			b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
				if ctx.Err() != nil {
					go func() { <-released }()
				}
				return b.MemoryStore.Load(ctx, shards)
			}
		})},
		{"leaves goroutines behind handles", []string{"handle/Close leaves no goroutine"}, releasing(func(_ *broken, released <-chan struct{}) {
			go func() { <-released }()
		})},
	}
}

func contextFaults() []fault {
	const before, overdue, during = "context/canceled before the call", "context/past its deadline", "context/canceled during the call"
	return []fault{
		{"ignores its context", []string{before}, deaf(func(context.Context) error { return nil })},
		{"writes although its context has ended", []string{overdue}, deaf(context.Context.Err)},
		{"hangs if its context has ended", []string{before}, releasing(func(b *broken, ended <-chan struct{}) {
			b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
				if ctx.Err() != nil {
					<-ended
				}
				return b.MemoryStore.Load(ctx, shards)
			}
		})},
		{"acknowledges a canceled write", []string{during}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			<-time.After(time.Millisecond)
			if ctx.Err() != nil {
				return batch.Expect, nil
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"returns the answer to another request", []string{during}, shared(func(b *broken) {
			var late atomic.Bool
			b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
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

// deaf makes calls whose context does not end, and returns the error of end after them.
func deaf(end func(context.Context) error) opener {
	return shared(func(b *broken) {
		b.campaign, b.load, b.apply, b.probe = deafCall(b.campaign, end), deafCall(b.load, end), deafCall(b.apply, end), deafCall(b.probe, end)
	})
}

func deafCall[Q, A any](call func(context.Context, Q) (A, error), end func(context.Context) error) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, q Q) (A, error) {
		a, err := call(context.WithoutCancel(ctx), q)
		return a, errors.Join(err, end(ctx))
	}
}
