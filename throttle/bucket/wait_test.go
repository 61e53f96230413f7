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

// TestWait_OrderOfArrival checks that waiters are served at the rate of the bucket, also a waiter
// for one token behind one for more than available.
func TestWait_OrderOfArrival(t *testing.T) {
	for name, store := range map[string]func() store.Store{
		"memory": func() store.Store { return nil }, "remote": func() store.Store { return newRemote() },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, bucket.Config{Store: store(), Limit: bucket.Limit{Capacity: 4, Refill: 1, Period: time.Second}})
			begun := time.Now()
			type served struct {
				waiter int
				at     time.Duration
			}
			turns := make(chan served, 10)
			for waiter, n := range []int64{4, 1, 3, 1} {
				if waiter == 3 {
					time.Sleep(2500 * time.Millisecond)
				}
				go func() {
					wants(t, l.Wait(t.Context(), "k", n), nil, "waiter %d", waiter)
					turns <- served{waiter, time.Since(begun)}
				}()
				synctest.Wait()
			}
			for _, want := range []served{{0, 0}, {1, time.Second}, {2, 4 * time.Second}, {3, 5 * time.Second}} {
				equals(t, <-turns, want, "%s", name)
			}
			synctest.Wait()
			if s := l.Stats(); s.Waiting != 0 || s.Granted != 4 || s.Tokens != 9 {
				t.Errorf("%s: got %+v want 4 granted, 9 tokens", name, s)
			}
		})
	}
}

// TestWait_ManyLeaveAtOnce checks that later waiters get their tokens, that store calls are
// shared, and that no state remains.
func TestWait_ManyLeaveAtOnce(t *testing.T) {
	waiters := 10_000
	if testing.Short() {
		waiters = 2000
	}
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 10, Refill: 10, Period: time.Second}})
		ctx, cancel := context.WithCancel(t.Context())
		var served, left atomic.Int64
		var all sync.WaitGroup
		for range waiters {
			all.Go(func() {
				if l.Wait(ctx, "k", 1) == nil {
					served.Add(1)
				} else {
					left.Add(1)
				}
			})
		}
		time.Sleep(5*time.Second + 50*time.Millisecond)
		cancel()
		all.Wait()
		if served.Load() != 60 || left.Load() != int64(waiters-60) {
			t.Errorf("got %d served and %d left want 60 and %d", served.Load(), left.Load(), waiters-60)
		}
		if calls := store.calls.Load(); calls > 70 {
			t.Errorf("%d calls to the store, want about one for each token", calls)
		}
		time.Sleep(time.Second)
		wants(t, l.Take(t.Context(), "k", 10), nil, "a full bucket, a second later")
	})
}

// TestWait_Close checks that Close ends current and later waits with ErrClosed, and that other
// requests work.
func TestWait_Close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
		_, _ = l.Decide(t.Context(), "k")
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- l.Wait(t.Context(), "k", 1) }()
		}
		synctest.Wait()
		for range 2 {
			wants(t, l.Close(), nil, "Close")
		}
		for _, err := range []error{<-ended, <-ended, l.Wait(t.Context(), "other", 1)} {
			wants(t, err, bucket.ErrClosed, "Wait")
		}
		wants(t, l.Take(t.Context(), "other", 1), nil, "Take")
	})
}
