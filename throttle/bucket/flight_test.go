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

// TestRequestsAreAskedForTogether: whoever comes while the store is asked shares the next question, and each gets an answer of his own.
func TestRequestsAreAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 600, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		var mu sync.Mutex
		var all sync.WaitGroup
		allowed, retries := 0, map[time.Duration]int{}
		for range 1000 {
			all.Go(func() {
				d, err := l.Allow(t.Context(), "k")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					allowed++
				} else {
					retries[d.RetryAfter]++
				}
			})
			synctest.Wait()
		}
		close(gate)
		all.Wait()
		if calls := store.calls.Load(); allowed != 600 || calls != 2 {
			t.Errorf("%d allowed by %d calls, want 600 by 2", allowed, calls)
		}
		if len(retries) != 1 || retries[time.Hour] != 400 {
			t.Errorf("retries %v, want 400 times an hour", retries)
		}
	})
}

func TestACallerWhoLeavesLosesNothingForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(10), StoreTimeout: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := l.Allow(ctx, "k"); left <- err }()
		synctest.Wait()
		stays := make(chan bucket.Decision)
		go func() { d, _ := l.Allow(t.Context(), "k"); stays <- d }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(gate)
		if d := <-stays; !d.Allowed {
			t.Errorf("got %+v", d)
		}
	})
}

// TestAnyNumberIsAskedForTogether: all who come while the store is being asked are answered by the next answer.
func TestAnyNumberIsAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 6000, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		var allowed, refused atomic.Int64
		var all sync.WaitGroup
		for range 10_000 {
			all.Go(func() {
				d, err := l.Allow(t.Context(), "k")
				switch {
				case err != nil:
					t.Error(err)
				case d.Allowed:
					allowed.Add(1)
				default:
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		close(gate)
		all.Wait()
		if allowed.Load() != 6000 || refused.Load() != 4000 || store.calls.Load() != 2 {
			t.Errorf("%d allowed, %d denied by %d calls", allowed.Load(), refused.Load(), store.calls.Load())
		}
	})
}

// TestTokensOfThoseWhoLeftGoBack also if they left while the store was being asked.
func TestTokensOfThoseWhoLeftGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 100, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		ctx, leave := context.WithCancel(t.Context())
		for i := range 50 {
			who := t.Context()
			if i%2 == 0 {
				who = ctx
			}
			go func() {
				if d, err := l.Allow(who, "k"); (err == nil) != (who != ctx) || d.Allowed != (who != ctx) {
					t.Errorf("%+v, %v", d, err)
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining != 75 {
			t.Errorf("%+v, %v: want 75 left of 100, for 25 stayed", d, err)
		}
	})
}

// TestWhoLeftTakesNoTokenFromWhoStayed: a seat of one who has left is not given to one who stayed.
func TestWhoLeftTakesNoTokenFromWhoStayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		go func() { _, _ = l.Allow(t.Context(), "k") }()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = l.Allow(ctx, "k") }()
		synctest.Wait()
		stays := make(chan bucket.Decision)
		go func() { d, _ := l.Allow(t.Context(), "k"); stays <- d }()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(gate)
		if d := <-stays; !d.Allowed {
			t.Errorf("%+v: two tokens for two who stayed", d)
		}
	})
}

// TestAPanicOfAHookHoldsNobodyUp: a panic of a hook holds up all who come later.
func TestAPanicOfAHookHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.PerSecond(10), Hooks: bucket.Hooks{Asked: func(context.Context, bucket.StoreEvent) {
			if first {
				first = false
				panic("hook")
			}
		}}})
		func() {
			defer func() { _ = recover() }() // as net/http does
			_, _ = l.Allow(t.Context(), "k")
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if d, err := l.Allow(ctx, "k"); err != nil || !d.Allowed {
			t.Errorf("%+v, %v; asking %d", d, err, l.Stats().Asking)
		}
	})
}

// TestADenialGrantsNothing also beside those of the same flight who are granted theirs.
func TestADenialGrantsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 3, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		var granted, denied atomic.Int64
		for range 6 {
			go func() {
				switch d, err := l.Allow(t.Context(), "k"); {
				case err != nil:
					t.Error(err)
				case d.Allowed && d.Granted == 1 && d.RetryAfter == 0:
					granted.Add(1)
				case !d.Allowed && d.Granted == 0 && d.RetryAfter == time.Hour:
					denied.Add(1)
				default:
					t.Errorf("got %+v", d)
				}
			}()
			synctest.Wait()
		}
		close(gate)
		synctest.Wait()
		if granted.Load() != 3 || denied.Load() != 3 {
			t.Errorf("got %d granted, %d denied want 3 of each", granted.Load(), denied.Load())
		}
	})
}

// TestWhoLeftWithoutATokenGivesNoneBack: of a flight of six that got two tokens the last three have left.
func TestWhoLeftWithoutATokenGivesNoneBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 3, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		ctx, leave := context.WithCancel(t.Context())
		for i := range 7 { // the first is alone
			who := t.Context()
			if i >= 4 {
				who = ctx
			}
			go func() { _, _ = l.Allow(who, "k") }()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if got := left(t, l); got != 0 {
			t.Errorf("got %d left want none: three of three are used", got)
		}
	})
}

// TestWhatAPolicyGrantedToOneWhoLeftIsNotTheStores to be given.
func TestWhatAPolicyGrantedToOneWhoLeftIsNotTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 9, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		_, _ = l.AllowN(t.Context(), "k", 9)
		store.set(gate, errDown)
		ctx, leave := context.WithCancel(t.Context())
		for i := range 6 {
			who := t.Context()
			if i%2 == 1 {
				who = ctx
			}
			go func() { _, _ = l.Allow(who, "k") }()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		store.set(nil, nil)
		time.Sleep(time.Second)
		if got := left(t, l); got != 0 {
			t.Errorf("got %d left want none: all nine are used, and what FailOpen granted was never the store's", got)
		}
	})
}
