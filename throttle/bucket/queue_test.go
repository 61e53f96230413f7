package bucket_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// TestQueue_HugeRequests checks waiters whose total is above the largest int64.
func TestQueue_HugeRequests(t *testing.T) {
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

// TestQueue_CenturiesAhead checks a waiter whose tokens come after more nanoseconds than 63 bits hold, and 64 bits.
func TestQueue_CenturiesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: 10, Refill: 1, Period: 366 * 24 * time.Hour}})
		hurried, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for key, ahead := range map[string]int{"63 bits": 41, "64 bits": 70} {
			for range ahead {
				go func() { _ = l.Wait(t.Context(), key, 10) }()
			}
			synctest.Wait()
			var denied *bucket.DeniedError
			if err := l.Wait(hurried, key, 10); !errors.As(err, &denied) || denied.RetryAfter != math.MaxInt64 {
				t.Errorf("%s: got %v want a denial for the longest time", key, err)
			}
		}
	})
}

// TestQueue_ForgetsDeniedWaiters checks that a waiter that was denied at once does not delay
// others, also after more than maxBatch of them.
func TestQueue_ForgetsDeniedWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
		_, _ = l.Decide(t.Context(), "k")
		go func() { _ = l.Wait(t.Context(), "k", 1) }() // is served in an hour
		synctest.Wait()
		begun := time.Now()
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i := range 5000 {
			var denied *bucket.DeniedError
			if err := l.Wait(hurried, "k", 1); !errors.As(err, &denied) || denied.RetryAfter != 2*time.Hour || time.Since(begun) > 0 {
				t.Fatalf("waiter %d: got %v after %v want a denial for 2h at once", i, err, time.Since(begun))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour+time.Second)
		defer cancel()
		if err := l.Wait(ctx, "k", 1); err != nil || time.Since(begun) != 2*time.Hour {
			t.Errorf("the next waiter: got %v after %v want a token after 2h", err, time.Since(begun))
		}
	})
}

// TestQueue_ForgetsWaitersThatLeft checks that waiters that leave or are denied during a store
// call do not delay others.
func TestQueue_ForgetsWaitersThatLeft(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity int64         // of which one comes back each second
		ahead    int           // waiters
		want     int64         // tokens that each of them wants
		deadline time.Duration // of each of them; without one they leave
		wants    int64         // tokens that the last waiter wants
		patience time.Duration
		served   time.Duration
	}{
		{"one that left and wanted more", 9, 1, 9, 0, 3, 4 * time.Second, 3 * time.Second},
		{"many that left", 1, 20, 1, 0, 1, 5 * time.Second, time.Second},
		{"one that is too late", 100, 1, 100, 50 * time.Second, 1, 60 * time.Second, time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			store, gate := newRemote(), make(chan struct{})
			l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: tt.capacity, Refill: 1, Period: time.Second}, StoreTimeout: time.Minute})
			_, _ = l.DecideN(t.Context(), "k", tt.capacity)
			store.set(gate, nil)
			ctx, leave := context.WithCancel(t.Context())
			if tt.deadline > 0 {
				ctx, leave = context.WithTimeout(t.Context(), tt.deadline)
			}
			defer leave()
			for range tt.ahead {
				go func() { _ = l.Wait(ctx, "k", tt.want) }()
			}
			synctest.Wait()
			if tt.deadline == 0 {
				leave()
				synctest.Wait()
			}
			begun, served := time.Now(), make(chan error)
			hurried, cancel := context.WithTimeout(t.Context(), tt.patience)
			defer cancel()
			go func() { served <- l.Wait(hurried, "k", tt.wants) }()
			synctest.Wait()
			store.set(nil, nil)
			close(gate)
			if err := <-served; err != nil || time.Since(begun) != tt.served {
				t.Errorf("got %v after %v want the tokens after %v", err, time.Since(begun), tt.served)
			}
		})
	}
}

// TestQueue_ErrorOfAWaiterThatHasLeft: while the store hangs, a Wait that exceeds the local share leaves.
// The next one gets its token from the share.
func TestQueue_ErrorOfAWaiterThatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := gated()
		l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(100), Replicas: 10})
		ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer leave()
		var both sync.WaitGroup
		both.Go(func() { _ = l.Wait(ctx, "k", 50) })
		time.Sleep(time.Millisecond)
		both.Go(func() {
			wants(t, l.Wait(t.Context(), "k", 1), nil, "a token")
		})
		both.Wait()
	})
}

// TestQueue_DoesNotReturnTokensOfAPolicy checks that no tokens of a policy are given back to the
// store.
func TestQueue_DoesNotReturnTokensOfAPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}})
		_, _ = l.DecideN(t.Context(), "k", 10)
		store.set(make(chan struct{}), nil) // no answer in time
		ctx, leave := context.WithCancel(t.Context())
		go func() { _ = l.Wait(t.Context(), "k", 1) }()
		synctest.Wait()
		// the first asks alone; those who come now are asked for together, after 50 ms
		for range 5 {
			go func() { _ = l.Wait(ctx, "k", 1) }()
		}
		go func() { _ = l.Wait(t.Context(), "k", 1) }()
		time.Sleep(75 * time.Millisecond)
		leave()
		time.Sleep(time.Second)
		store.set(nil, nil)
		time.Sleep(time.Second)
		equals(t, left(t, l), 0, "left of ten, of which all were taken")
	})
}

// TestQueue_Rechecks checks that a waiter gets tokens at once after a new limit or a Return.
func TestQueue_Rechecks(t *testing.T) {
	for name, bring := range map[string]func(*bucket.Limiter) error{
		"SetLimit": func(l *bucket.Limiter) error { return l.SetLimit(bucket.PerSecond(50)) },
		"Return":   func(l *bucket.Limiter) error { return l.Return(t.Context(), "k", 1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: 5, Refill: 1, Period: time.Hour}})
			_, _ = l.DecideN(t.Context(), "k", 5)
			begun := time.Now()
			time.AfterFunc(time.Second, func() {
				wants(t, bring(l), nil, "%s", name)
			})
			if err := l.Wait(t.Context(), "k", 1); err != nil || time.Since(begun) > 2*time.Second {
				t.Errorf("%s after a second: got %v after %v want a token within two", name, err, time.Since(begun))
			}
		})
	}
}

// TestWait_DeniesALateWaiterOfAPolicy checks that a waiter is denied at once only if its deadline
// is before the next store call.
func TestWait_DeniesALateWaiterOfAPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Every(time.Hour), OnFailure: bucket.LocalShare})
		store.set(nil, errDown)
		must(t, l.Take(t.Context(), "k", 1))
		wait := func(patience time.Duration) (time.Duration, error) {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := l.Wait(ctx, "k", 1)
			return time.Since(begun), err
		}
		for _, tt := range []struct{ patience, at time.Duration }{{time.Millisecond, 0}, {999 * time.Millisecond, 0}, {3500 * time.Millisecond, 3 * time.Second}} {
			var denied *bucket.DeniedError
			if after, err := wait(tt.patience); !errors.As(err, &denied) || after != tt.at || denied.RetryAfter <= 0 {
				t.Errorf("%v: got %v after %v want a denial after %v", tt.patience, err, after, tt.at)
			}
		}
		go func() { _ = l.Wait(t.Context(), "k", 1) }() // without a deadline
		synctest.Wait()
		if after, err := wait(time.Millisecond); !errors.Is(err, bucket.ErrDenied) || after != 0 {
			t.Errorf("behind a waiter: got %v after %v", err, after)
		}
		if s := l.Stats(); s.FailedClosed != 4 || s.Denied != 0 || s.FailedOpen != 1 {
			t.Errorf("stats: got %+v want the denials to be the policy's", s)
		}
		store.set(nil, nil)
		time.Sleep(2 * time.Second) // a rest of the store's, and a look
		if s := l.Stats(); s.Granted != 1 || s.Waiting != 0 {
			t.Errorf("soon after the store is back: got %+v want the waiter served", s)
		}
	})
}

// TestQueue_LimitBelowARequest checks that a lower limit ends the requests that exceed it, and no
// others.
func TestQueue_LimitBelowARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 9, Refill: 1, Period: time.Second}})
		_, _ = l.DecideN(t.Context(), "k", 9)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- l.Wait(t.Context(), "k", 5) }()
		synctest.Wait()
		go func() { second <- l.Wait(t.Context(), "k", 3) }()
		synctest.Wait()
		must(t, l.SetLimit(bucket.Limit{Capacity: 4, Refill: 1, Period: time.Second}))
		wants(t, <-first, bucket.ErrExceedsCapacity, "five of a bucket that holds four")
		wants(t, <-second, nil, "three of it")
	})
}

// TestQueue_RequestsOfAStoreCall checks that StoreEvent.Requests counts all waiters of a store
// call.
func TestQueue_RequestsOfAStoreCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := gated()
		var questions, requests atomic.Int64
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), StoreTimeout: time.Minute, Hooks: bucket.Hooks{
			StoreCalled: func(_ context.Context, e bucket.StoreEvent) { questions.Add(1); requests.Add(int64(e.Requests)) },
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

// TestQueue_LeavingLosesNoTokens checks waiters and requests that leave at the moment of the
// store's answer. Each token is used, or back in the bucket when the lease is over.
func TestQueue_LeavingLosesNoTokens(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 30
	}
	synctest.Test(t, func(t *testing.T) {
		const capacity = 80_000
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: capacity, Refill: 1, Period: time.Hour}, Lease: 10, StoreTimeout: time.Minute})
		var used atomic.Int64
		for round := range rounds {
			gate := make(chan struct{})
			store.set(gate, nil)
			ctx, leave := context.WithCancel(t.Context())
			for i := range 50 {
				mine := ctx
				if i%5 == 0 { // stays
					mine = t.Context()
				}
				go func() {
					if l.Wait(mine, "k", 3) == nil {
						used.Add(3)
					}
				}()
				go func() {
					d, _ := l.Decide(mine, "k")
					used.Add(d.Granted)
				}()
				if i == 0 { // asks for itself
					synctest.Wait()
				}
			}
			synctest.Wait()
			if round%2 == 0 { // before the second question
				leave()
				synctest.Wait()
			}
			go leave()
			close(gate)
			time.Sleep(time.Second)
			if got, want := left(t, l), capacity-used.Load(); got != want {
				t.Fatalf("round %d: got %d left want %d", round, got, want)
			}
		}
	})
}

// TestWait_LargeBesideAnotherProcess checks that a caller that waits for ten tokens gets its part beside
// another process whose callers take each single token, and that a caller who is alone makes few calls.
func TestWait_LargeBesideAnotherProcess(t *testing.T) {
	for name, c := range map[string]struct {
		others        int
		least, most   int64 // tokens of the large caller in 20 s
		callsForToken float64
	}{"beside": {8, 100, 700, 4}, "alone": {0, 830, 840, 0.21}} {
		bubble(t, name, func(t *testing.T) {
			limit, shared := bucket.PerSecond(40), bucket.NewMemoryStore()
			large, small := &remote{Store: shared}, &remote{Store: shared}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var all sync.WaitGroup
			wait := func(s *remote, n int64, got *atomic.Int64, callers int) {
				l := limiter(t, bucket.Config{Store: s, Limit: limit})
				for range callers {
					all.Go(func() {
						for l.Wait(ctx, "key", n) == nil {
							got.Add(n)
						}
					})
				}
			}
			var tens, ones atomic.Int64
			wait(large, 10, &tens, 1)
			wait(small, 1, &ones, c.others)
			all.Wait()
			if n := tens.Load(); n < c.least || n > c.most {
				t.Errorf("the large caller got %d tokens, want %d to %d", n, c.least, c.most)
			}
			if n := tens.Load() + ones.Load(); n > 840 {
				t.Errorf("%d tokens in all, want at most 840", n)
			}
			if calls := float64(large.calls.Load()) / float64(tens.Load()); calls > c.callsForToken {
				t.Errorf("%.2f store calls for each token, want at most %.2f", calls, c.callsForToken)
			}
		})
	}
}

// TestQueue_FixedPeriod checks that the waiters of a Fixed bucket get at most its capacity in each period, whatever
// they ask for, and that others get what the first waiter cannot use.
func TestQueue_FixedPeriod(t *testing.T) {
	for name, s := range map[string]func() store.Store{"memory": func() store.Store { return bucket.NewMemoryStore() }, "remote": func() store.Store { return newRemote() }} {
		bubble(t, name, func(t *testing.T) {
			l := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: 10, Period: time.Minute, Algorithm: bucket.Fixed}, Store: s()})
			must(t, l.Take(t.Context(), "k", 10))
			var done atomic.Int64
			for _, n := range []int64{1, 10} {
				go func() {
					if l.Wait(t.Context(), "k", n) == nil {
						done.Add(n)
					}
				}()
				synctest.Wait()
			}
			for period, want := range []struct{ waited, others int64 }{{1, 9}, {11, 0}} {
				time.Sleep(time.Minute)
				synctest.Wait()
				d, err := l.DecideAtMost(t.Context(), "k", 10)
				must(t, err)
				equals(t, done.Load(), want.waited, "period %d: tokens of waiters", period)
				equals(t, d.Granted, want.others, "period %d: tokens of others", period)
			}
		})
	}
}
