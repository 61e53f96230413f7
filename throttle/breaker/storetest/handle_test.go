package storetest

import (
	"context"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func watchFaults() []fault {
	const hears, ends, several = "watch/hears changes of another handle", "watch/ends with its context", "watch/several at once"
	return []fault{
		{"tells no watcher", []string{hears, ends, several}, shared(func(b *broken) {
			b.watch = func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() }
		})},
		{"ends watching at the first change", []string{hears, several}, shared(func(b *broken) {
			b.watch = func(ctx context.Context, changed func()) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				return b.MemoryStore.Watch(ctx, func() { changed(); cancel() })
			}
		})},
		{"watches for ever", []string{ends}, releasing(func(b *broken, released <-chan struct{}) {
			b.watch = func(_ context.Context, changed func()) error {
				ctx, cancel := context.WithCancel(context.Background())
				go func() { <-released; cancel() }()
				return b.MemoryStore.Watch(ctx, changed)
			}
		})},
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
	}
}

func handleFaults() []fault {
	return []fault{
		{"closes all handles with one", []string{"handle/Close leaves others alone", "handle/Close twice is fine"}, shared(func(b *broken) {
			var closed atomic.Bool
			b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
				if closed.Load() {
					return nil, errBroken
				}
				return b.MemoryStore.Load(ctx, shards)
			}
			b.closing = func() error { closed.Store(true); return nil }
		})},
		{"cannot be closed twice", []string{"handle/Close twice is fine"}, each(func(b *broken, _ int) {
			var closed atomic.Bool
			b.closing = func() error {
				if closed.Swap(true) {
					return errBroken
				}
				return nil
			}
		})},
		{"leaves goroutines behind calls", []string{"handle/use leaves no goroutine"}, releasing(func(b *broken, released <-chan struct{}) {
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
