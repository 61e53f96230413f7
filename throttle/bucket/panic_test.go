package bucket_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// panicking are hooks that panic.
func panicking() bucket.Hooks {
	return bucket.Hooks{
		Asked:  func(context.Context, bucket.StoreEvent) { panic("asked") },
		Denied: func(context.Context, bucket.DenialEvent) { panic("denied") },
		Waited: func(context.Context, bucket.WaitEvent) { panic("waited") },
	}
}

// caught returns what something panicked with.
func caught(something func()) (value any) {
	defer func() { value = recover() }()
	something()
	return nil
}

// TestAPanicOnTheLimitersOwnGoroutine is counted, and everybody gets what the store has granted: of those who are asked for together, and of those in line.
func TestAPanicOnTheLimitersOwnGoroutine(t *testing.T) {
	for name, ask := range map[string]func(*bucket.Limiter) error{
		"together": func(l *bucket.Limiter) error { return l.Take(context.Background(), "k", 1) },
		"in line":  func(l *bucket.Limiter) error { return l.Wait(context.Background(), "k", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, gate := newRemote(), make(chan struct{})
				store.set(gate, nil)
				var calls, panics atomic.Int64
				l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), StoreTimeout: time.Minute, Hooks: bucket.Hooks{
					Asked: func(context.Context, bucket.StoreEvent) {
						if calls.Add(1) > 1 || name == "in line" { // the first of those who are asked for together asks himself
							panics.Add(1)
							panic("asked")
						}
					},
				}})
				var all sync.WaitGroup
				for range 50 {
					all.Go(func() {
						if err := ask(l); err != nil {
							t.Errorf("got %v want nil", err)
						}
					})
					synctest.Wait()
				}
				close(gate)
				all.Wait()
				synctest.Wait()
				if s := l.Stats(); panics.Load() == 0 || s.HookPanics != uint64(panics.Load()) || s.Granted != 50 || s.Waiting+s.Asking != 0 {
					t.Errorf("%d panics: got %+v want 50 granted", panics.Load(), s)
				}
			})
		})
	}
}

// TestAPanicGoesUpToWhoeverAsked with the books in order: nobody is in line any more, and tokens that nobody got are in the bucket.
func TestAPanicGoesUpToWhoeverAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		remote := limiter(t, bucket.Config{Store: store, Limit: bucket.Per(5, time.Hour), Hooks: panicking()})
		memory := limiter(t, bucket.Config{Limit: bucket.Per(5, time.Hour), Hooks: panicking()})
		if err := memory.Take(t.Context(), "k", 5); err != nil {
			t.Fatal(err)
		}
		hurried, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, tt := range []struct {
			name, want string
			do         func()
		}{
			{"Allow", "asked", func() { _, _ = remote.Allow(t.Context(), "k") }},
			{"AllowN", "asked", func() { _, _ = remote.AllowN(t.Context(), "k", 3) }},
			{"denied", "denied", func() { _ = memory.Take(t.Context(), "k", 1) }},
			{"denied in line", "denied", func() { _ = memory.Wait(hurried, "k", 1) }},
			{"waited", "waited", func() { _ = memory.Wait(t.Context(), "k", 1) }},
		} {
			if got := caught(tt.do); got != tt.want {
				t.Errorf("%s: got %v want %s", tt.name, got, tt.want)
			}
		}
		for _, l := range []*bucket.Limiter{remote, memory} {
			if s := l.Stats(); s.Waiting != 0 || s.Asking != 0 || s.HookPanics != 0 {
				t.Errorf("got %+v want nobody there, and nothing on its own goroutines", s)
			}
		}
		quiet := limiter(t, bucket.Config{Store: store, Limit: bucket.Per(5, time.Hour)})
		if d, err := quiet.Peek(t.Context(), "k"); err != nil || d.Remaining != 5 || remote.Stats().Granted != 0 {
			t.Errorf("got %+v, %v, and %+v want nothing taken", d, err, remote.Stats())
		}
	})
}

// TestHooksMayCallBack what does not ask for tokens, and from Denied and Waited also that.
func TestHooksMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		called := func(l *bucket.Limiter) {
			told.Add(1)
			_ = l.Stats()
			_ = l.SetLimit(bucket.PerSecond(2))
			if err := errors.Join(l.Return(context.Background(), "k", 1), l.Reset(context.Background(), "other")); err != nil {
				t.Errorf("called back: got %v want nil", err)
			}
		}
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.PerSecond(1), Hooks: bucket.Hooks{
			Asked: func(_ context.Context, e bucket.StoreEvent) { called(e.Limiter) },
			Denied: func(_ context.Context, e bucket.DenialEvent) {
				called(e.Limiter)
				_, _ = e.Limiter.Allow(context.Background(), "another")
			},
			Waited: func(_ context.Context, e bucket.WaitEvent) { called(e.Limiter); _ = e.Limiter.Close() },
			Closed: func(l *bucket.Limiter) { _ = l.Close(); _ = l.Stats() },
		}})
		for range 8 {
			_, _ = l.AllowN(t.Context(), "k", 1)
		}
		if err := l.Wait(t.Context(), "k", 1); err != nil {
			t.Errorf("Wait: got %v want nil", err)
		}
		if told.Load() < 10 {
			t.Errorf("told %d times", told.Load())
		}
	})
}
