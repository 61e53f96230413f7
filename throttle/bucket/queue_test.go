package bucket_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestWhatIsGrantedToOneWhoLeftTheLineGoesToTheNext without asking again, and back to the store if there is none.
func TestWhatIsGrantedToOneWhoLeftTheLineGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 9, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		ctx, leave := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { _ = l.Wait(ctx, "k", 5) }() // is asked for
		synctest.Wait()
		go func() { _ = l.Wait(ctx, "k", 1) }()
		go func() { served <- l.Wait(t.Context(), "k", 2) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if err, calls := <-served, store.calls.Load(); err != nil || calls != 1 {
			t.Errorf("got %v by %d calls want to be served by the only one", err, calls)
		}
		if got := left(t, l); got != 7 {
			t.Errorf("got %d left want 7: two of nine are used", got)
		}
	})
}

// TestALimitThatBecomesLowerThanAWish ends that wish, and no other.
func TestALimitThatBecomesLowerThanAWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 9, Refill: 1, Period: time.Second}})
		_, _ = l.AllowN(t.Context(), "k", 9)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- l.Wait(t.Context(), "k", 5) }()
		synctest.Wait()
		go func() { second <- l.Wait(t.Context(), "k", 3) }()
		synctest.Wait()
		if err := l.SetLimit(bucket.Limit{Capacity: 4, Refill: 1, Period: time.Second}); err != nil {
			t.Fatal(err)
		}
		if err := <-first; !errors.Is(err, bucket.ErrExceedsCapacity) {
			t.Errorf("five of a bucket that holds four: got %v want ErrExceedsCapacity", err)
		}
		if err := <-second; err != nil {
			t.Errorf("three of it: got %v want none", err)
		}
	})
}

// TestWaitersLearnThatTheStoreIsBack: what a local share has told is believed when the store is back.
func TestWaitersLearnThatTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(nil, errDown)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Every(time.Minute), OnFailure: bucket.LocalShare, Replicas: 1000})
		_, _ = l.Allow(t.Context(), "k") // the share
		begun := time.Now()
		go func() { time.Sleep(time.Second); store.set(nil, nil) }()
		if err := l.Wait(t.Context(), "k", 1); err != nil || time.Since(begun) > 2*time.Minute {
			t.Errorf("served %v after %v; the store is back since a second, and full", err, time.Since(begun))
		}
	})
}

// TestALineTellsHowManyItAsksFor: those who come while the store is asked are all asked for at once, whoever was first.
func TestALineTellsHowManyItAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		var questions, requests atomic.Int64
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), StoreTimeout: time.Minute, Hooks: bucket.Hooks{
			Asked: func(_ context.Context, e bucket.StoreEvent) { questions.Add(1); requests.Add(int64(e.Requests)) },
		}})
		for range 50 {
			go func() { _ = l.Wait(t.Context(), "k", 1) }()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if s := l.Stats(); s.Granted != 50 || requests.Load() != 50 || questions.Load() > 2 {
			t.Errorf("%d were served by %d questions for %d", s.Granted, questions.Load(), requests.Load())
		}
	})
}

// TestReturnOfAWaiterWhoLeaves: Close while all keys have leases, and a store that is slow.
func TestReturnOfAWaiterWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.PerSecond(1000), Lease: 10, StoreTimeout: time.Minute})
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			for range 50 {
				go func() { _ = l.Wait(ctx, "k", 3) }()
				go func() { _, _ = l.Allow(ctx, "k") }()
			}
			time.Sleep(time.Millisecond)
			cancel()
			synctest.Wait()
			time.Sleep(3 * time.Second)
			if got := left(t, l); got != 1000 {
				t.Fatalf("%d left", got)
			}
		}
	})
}
