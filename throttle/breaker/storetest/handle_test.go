package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func watchFaults() []fault {
	const expectChange, ends, several = "watch/reports changes of another handle", "watch/ends with its context", "watch/several watchers"
	return []fault{
		{"tells no watcher", []string{expectChange, ends, several}, shared(func(b *broken) {
			b.watch = func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() }
		})},
		{"ends watching at the first change", []string{expectChange, several}, shared(func(b *broken) {
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
		{"closes all handles with one", []string{"handle/Close keeps other handles", "handle/Close twice"}, shared(func(b *broken) {
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
	both, meanwhile := []string{"context/canceled before the call", "context/past its deadline"}, []string{"context/canceled during the call"}
	return append([]fault{
		{"hangs when the context is over", both, releasing(func(b *broken, released <-chan struct{}) {
			b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
				if ctx.Err() != nil {
					<-released
				}
				return b.MemoryStore.Load(ctx, shards)
			}
		})},
		{"acknowledges what was canceled", meanwhile, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			<-time.After(time.Millisecond)
			if ctx.Err() != nil {
				return batch.Expect, nil
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"takes an answer for that to another question", meanwhile, shared(func(b *broken) {
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
	}, deafFaults(both)...)
}

// deafFaults are stores of which one method does not look at its context. Of those that write, one
// returns the error of the context and has written all the same.
func deafFaults(found []string) []fault {
	var all []fault
	for method, breakIt := range map[string]func(b *broken, end func(context.Context) error){
		"Campaign": func(b *broken, end func(context.Context) error) { b.campaign = deaf(b.campaign, end) },
		"Load":     func(b *broken, end func(context.Context) error) { b.load = deaf(b.load, end) },
		"Apply":    func(b *broken, end func(context.Context) error) { b.apply = deaf(b.apply, end) },
		"Probe":    func(b *broken, end func(context.Context) error) { b.probe = deaf(b.probe, end) },
		"Resign": func(b *broken, _ func(context.Context) error) {
			b.resign = func(ctx context.Context, l store.Lease) error {
				return b.MemoryStore.Resign(context.WithoutCancel(ctx), l)
			}
		},
		"Versions": func(b *broken, _ func(context.Context) error) {
			b.versions = func(ctx context.Context) (store.Versions, error) {
				return b.MemoryStore.Versions(context.WithoutCancel(ctx))
			}
		},
	} {
		all = append(all, fault{"does not look at the context of " + method, found, shared(func(b *broken) {
			breakIt(b, func(context.Context) error { return nil })
		})})
		if method == "Campaign" || method == "Apply" || method == "Probe" {
			all = append(all, fault{"writes although the context is over, in " + method, found, shared(func(b *broken) { breakIt(b, context.Context.Err) })})
		}
	}
	return all
}

// deaf makes a call whose context does not end, and returns the error of end.
func deaf[Q, A any](call func(context.Context, Q) (A, error), end func(context.Context) error) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, q Q) (A, error) {
		a, err := call(context.WithoutCancel(ctx), q)
		return a, errors.Join(err, end(ctx))
	}
}
