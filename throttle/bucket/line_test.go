package bucket_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestWhoeverIsTooLateIsToldSo as soon as the store has told when the first can be served, and not only when his time is over.
func TestWhoeverIsTooLateIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Minute}})
		_, _ = l.AllowN(t.Context(), "k", 2)
		begun := time.Now()
		for name, c := range map[string]struct {
			n, after int64
			patience time.Duration
		}{"for one": {1, 1, time.Minute - 1}, "for two": {2, 2, 2*time.Minute - 1}} {
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			var denied *bucket.DeniedError
			if err := l.Wait(ctx, "k", c.n); !errors.As(err, &denied) || denied.RetryAfter != time.Duration(c.after)*time.Minute || time.Since(begun) > 0 {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+1)
		defer cancel()
		if err := l.Wait(ctx, "k", 1); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("a deadline that can just be met: %v after %v", err, time.Since(begun))
		}
		if s := l.Stats(); s.Denied != 2 || s.Granted != 2 || s.Waiting != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestWhoWantsLessNeedNotWaitForOneWhoLeft and wanted more.
func TestWhoWantsLessNeedNotWaitForOneWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.Limit{Capacity: 9, Refill: 1, Period: time.Second}})
		_, _ = l.AllowN(t.Context(), "k", 9)
		ctx, leave := context.WithCancel(t.Context())
		go func() { _ = l.Wait(ctx, "k", 9) }()
		synctest.Wait()
		begun, served := time.Now(), make(chan error)
		go func() { served <- l.Wait(t.Context(), "k", 3) }()
		time.Sleep(2 * time.Second)
		leave()
		if err := <-served; err != nil || time.Since(begun) != 3*time.Second {
			t.Errorf("served %v after %v, want 3s", err, time.Since(begun))
		}
	})
}

// TestWhoWantsLessNeedNotWaitForOneWhoLeftWhileTheStoreWasAsked for more.
func TestWhoWantsLessNeedNotWaitForOneWhoLeftWhileTheStoreWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 9, Refill: 1, Period: time.Second}})
		_, _ = l.AllowN(t.Context(), "k", 9)
		answers := make(chan struct{})
		store.set(answers, nil)
		ctx, leave := context.WithCancel(t.Context())
		go func() { _ = l.Wait(ctx, "k", 9) }()
		synctest.Wait()
		begun, served := time.Now(), make(chan error)
		hurried, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		go func() { served <- l.Wait(hurried, "k", 3) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(answers)
		if err := <-served; err != nil || time.Since(begun) != 3*time.Second {
			t.Errorf("served %v after %v, want 3s", err, time.Since(begun))
		}
	})
}

// TestWaitsWithoutTheStoreAreThePolicys in the statistics too.
func TestWaitsWithoutTheStoreAreThePolicys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(nil, errDown)
		open := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(5)})
		closed := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(5), OnFailure: bucket.FailClosed})
		if err := open.Wait(t.Context(), "k", 2); err != nil {
			t.Error(err)
		}
		if err := closed.Wait(t.Context(), "k", 2); !errors.Is(err, bucket.ErrStore) {
			t.Error(err)
		}
		if s := open.Stats(); s.FailedOpen != 1 || s.Tokens != 2 || s.Granted != 0 {
			t.Errorf("open: %+v", s)
		}
		if s := closed.Stats(); s.FailedClosed != 1 || s.Tokens != 0 || s.Denied != 0 {
			t.Errorf("closed: %+v", s)
		}
	})
}

// TestLinesOfHugeWishes: what all want together is more than there are numbers for.
func TestLinesOfHugeWishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := int64(3e17)
		l := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: huge, Refill: 1e9}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan error, 100)
		for range 100 {
			go func() { ended <- l.Wait(ctx, "k", huge) }()
		}
		served, denied := 0, 0
		for range 100 {
			if err := <-ended; err == nil {
				served++
			} else if errors.Is(err, bucket.ErrDenied) {
				denied++
			}
		}
		if served != 1 || denied != 99 {
			t.Errorf("%d served, %d denied, want one and all others", served, denied)
		}
	})
}

func TestAClosedLimiterLetsNobodyWait(t *testing.T) {
	l := limiter(t, bucket.Config{Limit: bucket.PerSecond(5)})
	_ = l.Close()
	for range 20 {
		if err := l.Wait(t.Context(), "k", 1); !errors.Is(err, bucket.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if d, err := l.Allow(t.Context(), "k"); err != nil || !d.Allowed {
		t.Errorf("others are answered: %+v, %v", d, err)
	}
}

// TestWhoWasDismissedIsNotAhead: a dismissed waiter still counts as one who is ahead.
func TestWhoWasDismissedIsNotAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Every(time.Minute)})
		_, _ = l.Allow(t.Context(), "k")
		go func() { _ = l.Wait(t.Context(), "k", 1) }() // is served in one minute
		synctest.Wait()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := l.Wait(ctx, "k", 1); !errors.Is(err, bucket.ErrDenied) {
				t.Error(err)
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Second)
		defer cancel()
		if err := l.Wait(ctx, "k", 1); err != nil { // is next, in two minutes
			t.Errorf("got %v, want to be served in two minutes", err)
		}
	})
}

// TestDismissedAreForgotten: after 4096 who were dismissed nobody is told at once any more.
func TestDismissedAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
		_, _ = l.Allow(t.Context(), "k")
		first, leave := context.WithCancel(t.Context())
		defer leave()
		go func() { _ = l.Wait(first, "k", 1) }()
		synctest.Wait()
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i := range 5000 {
			if err := l.Wait(ctx, "k", 1); !errors.Is(err, bucket.ErrDenied) || time.Since(begun) > 0 {
				t.Errorf("the %dth: %v after %v, want to be denied at once", i, err, time.Since(begun))
				break
			}
		}
	})
}

// TestBehindOneWhoIsDismissed: dismissed in one go: who is behind one who is dismissed.
func TestBehindOneWhoIsDismissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 100, Refill: 1, Period: time.Second}, StoreTimeout: time.Minute})
		_, _ = l.AllowN(t.Context(), "k", 100)
		store.set(gate, nil)
		hurried, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		go func() { _ = l.Wait(hurried, "k", 100) }() // cannot have them before 100 s
		synctest.Wait()
		ended := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		go func() { ended <- l.Wait(ctx, "k", 1) }()
		synctest.Wait()
		store.set(nil, nil)
		close(gate)
		if err := <-ended; err != nil {
			t.Errorf("got %v, want to be served in a second", err)
		}
	})
}

// TestWhoHasLeftIsNotAhead: those who have left, while the store is being asked, count too.
func TestWhoHasLeftIsNotAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Every(time.Second), StoreTimeout: time.Minute})
		_, _ = l.Allow(t.Context(), "k")
		store.set(gate, nil)
		ctx, leave := context.WithCancel(t.Context())
		for range 20 {
			go func() { _ = l.Wait(ctx, "k", 1) }()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		ended := make(chan error)
		hurried, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() { ended <- l.Wait(hurried, "k", 1) }()
		synctest.Wait()
		store.set(nil, nil)
		close(gate)
		if err := <-ended; err != nil {
			t.Errorf("got %v, want to be served in a second", err)
		}
	})
}

// TestWhatThePolicyGrantedIsNotGivenToTheStore: tokens of a policy are given back to the store.
func TestWhatThePolicyGrantedIsNotGivenToTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}})
		_, _ = l.AllowN(t.Context(), "k", 10)
		store.set(make(chan struct{}), nil) // no answer in time
		ctx, leave := context.WithCancel(t.Context())
		go func() { _ = l.Wait(t.Context(), "k", 1) }()
		synctest.Wait()
		// the first asks alone; those who come now are asked for together, after 50 ms
		_ = leave
		for range 5 {
			go func() { _ = l.Wait(ctx, "k", 1) }()
		}
		go func() { _ = l.Wait(t.Context(), "k", 1) }()
		time.Sleep(75 * time.Millisecond)
		leave()
		time.Sleep(time.Second)
		store.set(nil, nil)
		time.Sleep(time.Second)
		if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining != 0 {
			t.Errorf("%+v, %v: want an empty bucket, of which all ten were taken", d, err)
		}
	})
}

// TestWaitersLearnOfANewLimit: who waits learns nothing of a new limit.
func TestWaitersLearnOfANewLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: 5, Refill: 1, Period: time.Hour}})
		_, _ = l.AllowN(t.Context(), "k", 5)
		begun := time.Now()
		go func() { time.Sleep(time.Second); _ = l.SetLimit(bucket.PerSecond(50)) }()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		if err := l.Wait(ctx, "k", 1); err != nil || time.Since(begun) > time.Minute {
			t.Errorf("served %v after %v", err, time.Since(begun))
		}
	})
}

// TestWaitersLearnOfWhatWasGivenBack: nor of tokens that were given back.
func TestWaitersLearnOfWhatWasGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
		_, _ = l.Allow(t.Context(), "k")
		begun := time.Now()
		go func() { time.Sleep(time.Second); _ = l.Return(t.Context(), "k", 1) }()
		if err := l.Wait(t.Context(), "k", 1); err != nil || time.Since(begun) > time.Minute {
			t.Errorf("served %v after %v", err, time.Since(begun))
		}
	})
}
