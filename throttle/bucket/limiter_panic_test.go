package bucket_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestLimiter_PanicOfLimitForInWait checks that the panic propagates to each waiter, and that the
// queue works afterwards.
func TestLimiter_PanicOfLimitForInWait(t *testing.T) {
	for name, store := range map[string]store.Store{"in memory": nil, "elsewhere": newRemote()} {
		bubble(t, name, func(t *testing.T) {
			var hot atomic.Bool
			var told atomic.Int64
			l := limiter(t, bucket.Config{
				Store: store, Limit: bucket.Every(time.Minute),
				LimitFor: func(string) bucket.Limit {
					if hot.Load() {
						panic("limit")
					}
					return bucket.Limit{}
				},
				Hooks: bucket.Hooks{Waited: func(_ context.Context, e bucket.WaitEvent) {
					if told.Add(1); hot.Load() && (e.Err == nil || e.Err.Error() != "bucket: panic of Config.LimitFor: limit") {
						t.Errorf("Waited: got %v want the panic", e.Err)
					}
				}},
			})
			_, _ = l.Decide(t.Context(), "k")
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if got := caught(func() { _ = l.Wait(t.Context(), "k", 1) }); got != "limit" {
						t.Errorf("Wait: got panic %v want limit", got)
					}
				})
			}
			synctest.Wait()
			hot.Store(true)
			time.Sleep(time.Minute)
			all.Wait()
			hot.Store(false)
			if s := l.Stats(); s.Waiting != 0 || s.HookPanics != 0 || told.Load() != 3 {
				t.Errorf("got %+v, %d told want no caller waiting, three hooks called", s, told.Load())
			}
			if err := l.Wait(t.Context(), "k", 1); err != nil {
				t.Errorf("the next: got %v want nil", err)
			}
		})
	}
}

// TestLimiter_PanicOfLimitForAfterALateAnswer checks that the panic is counted, and not as a
// failure of the store.
func TestLimiter_PanicOfLimitForAfterALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hot, thaw := atomic.Bool{}, make(chan struct{})
		l := limiter(t, bucket.Config{Store: slow(bucket.NewMemoryStore(), thaw), Limit: bucket.Every(time.Minute), LimitFor: func(string) bucket.Limit {
			if hot.Load() {
				panic("limit")
			}
			return bucket.Limit{}
		}})
		for range 3 {
			_, _ = l.DecideN(t.Context(), "k", 1)
		}
		hot.Store(true)
		close(thaw)
		synctest.Wait()
		if s := l.Stats(); s.HookPanics != 1 {
			t.Errorf("got %+v want one panic", s)
		}
		if got := caught(func() { _ = l.Return(t.Context(), "k", 1) }); got != "limit" {
			t.Errorf("Return: got panic %v want limit", got)
		}
	})
}
