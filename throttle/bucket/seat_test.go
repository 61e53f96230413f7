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

// TestWhoComesWithAnEndedContextTakesNothing neither of the store, nor of a lease, nor a seat.
func TestWhoComesWithAnEndedContextTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := leasing(t, store)
		ended, end := context.WithCancel(t.Context())
		end()
		ask := func(when string) {
			if d, err := l.Allow(ended, "k"); !errors.Is(err, context.Canceled) || d.Allowed || d.Limit != 1000 {
				t.Errorf("%s: got %+v, %v want context.Canceled", when, d, err)
			}
		}
		ask("at first")
		_, _ = l.Allow(t.Context(), "k")
		ask("beside a lease")
		for i := range 10 {
			if d, err := l.Allow(t.Context(), "k"); err != nil || d.Source != bucket.FromLease || d.Remaining != int64(9-i) {
				t.Errorf("got %+v, %v want the lease's", d, err)
			}
		}
		if calls := store.calls.Load(); calls != 1 {
			t.Errorf("got %d calls want 1", calls)
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

// TestNothingIsFetchedAheadAfterClose nor kept of what was under way.
func TestNothingIsFetchedAheadAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		l := leasing(t, store)
		store.set(gate, nil)
		go func() { _, _ = l.Allow(t.Context(), "k") }()
		synctest.Wait()
		_ = l.Close()
		close(gate)
		synctest.Wait()
		if got := left(t, l); got != 999 {
			t.Errorf("got %d left want 999: one is used, and ten came too late to be kept", got)
		}
		for i := range int64(3) {
			if d, err := l.Allow(t.Context(), "k"); err != nil || d.Source != bucket.FromStore || left(t, l) != 998-i {
				t.Errorf("got %+v, %v and %d left want the store's, and nothing ahead", d, err, left(t, l))
			}
		}
	})
}

// TestWhenToAskForAFixedBucketAgain is when the next period begins: half a lease more does not come by itself.
func TestWhenToAskForAFixedBucketAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1970 * time.Millisecond)))
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 100, Algorithm: bucket.Fixed}, Lease: 100})
		_, _ = l.AllowN(t.Context(), "k", 100)
		for _, want := range []bucket.Source{bucket.FromStore, bucket.FromLease} {
			if d, err := l.Allow(t.Context(), "k"); err != nil || d.Allowed || d.Source != want || d.RetryAfter != 30*time.Millisecond {
				t.Errorf("got %+v, %v want denied by %v for 30ms", d, err, want)
			}
		}
		time.Sleep(30 * time.Millisecond)
		if d, err := l.Allow(t.Context(), "k"); err != nil || !d.Allowed || d.Source != bucket.FromStore {
			t.Errorf("got %+v, %v want granted as the period begins", d, err)
		}
	})
}

// TestALeaseThatIsRenewedIsKeptFromThenOn and given back when that is over.
func TestALeaseThatIsRenewedIsKeptFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leasing(t, newRemote())
		begun := time.Now()
		for range 11 {
			_, _ = l.Allow(t.Context(), "k") // all of a lease
		}
		time.Sleep(50 * time.Millisecond)
		_, _ = l.Allow(t.Context(), "k") // and ten ahead, at 50 ms
		for _, at := range []time.Duration{99, 101, 149} {
			time.Sleep(at*time.Millisecond - time.Since(begun))
			if d, err := l.Allow(t.Context(), "k"); err != nil || d.Source != bucket.FromLease {
				t.Errorf("after %v: got %+v, %v want the lease's", time.Since(begun), d, err)
			}
		}
		_, _ = l.AllowAtMost(t.Context(), "k", 1000) // of the store: all
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := left(t, l); got != 8 {
			t.Errorf("got %d left want seven of the lease, and the one that came in the last millisecond", got)
		}
		time.Sleep(time.Second)
		if d, err := l.Allow(t.Context(), "k"); err != nil || d.Source != bucket.FromStore || left(t, l) != 989 {
			t.Errorf("got %+v, %v and %d left want 989: a whole lease is fetched anew", d, err, left(t, l))
		}
	})
}
