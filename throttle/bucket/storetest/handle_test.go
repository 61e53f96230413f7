package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func handleFaults() []fault {
	heedless := func(context.Context) error { return nil }
	return []fault{
		{"has buckets for each handle", []string{"take/handles share buckets"}, each(func(b *broken, _ int) { b.storage = &storage{levels: map[string]store.Level{}} })},
		{"takes although its context has ended", []string{"context/canceled before the call", "context/past its deadline"}, each(func(b *broken, _ int) { b.early, b.late = heedless, context.Context.Err })},
		{"hangs if its context has ended", []string{"context/canceled before the call"}, leaky(func(b *broken, wait func()) {
			b.early = func(ctx context.Context) error {
				if ctx.Err() != nil {
					wait()
				}
				return nil
			}
		})},
		{"keeps a lock when its context ends", []string{"context/canceled during the call"}, each(func(b *broken, _ int) { b.early = stuck() })},
		{"takes more when its context ends", []string{"context/canceled during the call"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if d.Granted == 2 { // as a client that repeats a request after a timeout
				next, _ = next.Take(r.Limit, now, 1, 2)
			}
			return next, d
		})},
		{"fills all buckets when it is closed", []string{"handle/Close keeps other handles"}, each(func(b *broken, _ int) {
			b.closing = func() error {
				b.mu.Lock()
				defer b.mu.Unlock()
				clear(b.levels)
				return nil
			}
		})},
		{"fails to be closed twice", []string{"handle/Close twice"}, each(func(b *broken, _ int) {
			closed := false
			b.closing = func() error {
				if closed {
					return errors.New("it is closed")
				}
				closed = true
				return nil
			}
		})},
		{"leaves a goroutine behind each call", []string{"handle/calls leave no goroutine"}, leaky(func(b *broken, leak func()) {
			b.early = func(ctx context.Context) error {
				go leak()
				return ctx.Err()
			}
		})},
		{"leaves a goroutine behind each handle", []string{"handle/Close leaves no goroutine"}, leaky(func(_ *broken, leak func()) { go leak() })},
	}
}

// leaky breaks every handle with a func that blocks until the case ends.
func leaky(breakIt func(b *broken, block func())) opener {
	return func(r *kit.Recorder) func() store.Store {
		return each(func(b *broken, _ int) { breakIt(b, func() { <-r.Context().Done() }) })(r)
	}
}

// stuck makes all calls wait after one call was canceled while it waited.
func stuck() func(context.Context) error {
	var locked atomic.Bool
	return func(ctx context.Context) error {
		wait := 100 * time.Microsecond
		if locked.Load() {
			wait = time.Second
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			locked.Store(true)
		}
		return ctx.Err()
	}
}
