package bucket_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// leasing returns a limiter of 1,000 tokens per second, of which ten are fetched ahead at most.
func leasing(t *testing.T, store store.Store) *bucket.Limiter {
	t.Helper()
	return limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(1000), Lease: 100})
}

// left is how many tokens the store has.
func left(t *testing.T, l *bucket.Limiter) int64 {
	t.Helper()
	d, err := l.Peek(t.Context(), "k")
	if err != nil {
		t.Error(err)
	}
	return d.Remaining
}

func TestLease_ServesLaterRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := leasing(t, store)
		for i := range 22 {
			want := bucket.SourceLease
			if i%11 == 0 {
				want = bucket.SourceStore
			}
			if d, err := l.Decide(t.Context(), "k"); err != nil || !d.Allowed || d.Granted != 1 || d.Source != want || d.ResetAfter == 0 {
				t.Errorf("request %d: %+v, %v", i, d, err)
			}
		}
		equals(t, store.calls.Load(), 2, "calls for 22 tokens")
		if s := l.Stats(); s.Granted != 22 || s.Tokens != 22 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestLease_IsGivenBack checks that unused tokens are given back when the lease ends and when the
// limiter is closed.
func TestLease_IsGivenBack(t *testing.T) {
	for name, wait := range map[string]time.Duration{"in time": 100 * time.Millisecond, "at the end": 0} {
		bubble(t, name, func(t *testing.T) {
			l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.Limit{Capacity: 1000, Refill: 1, Period: time.Hour}, Lease: 100})
			for range 3 {
				_, _ = l.Decide(t.Context(), "k")
			}
			equals(t, left(t, l), 996, "left before: the limit is so slow that a lease has one token, so two batches of two")
			if time.Sleep(wait); wait == 0 {
				_ = l.Close()
			}
			synctest.Wait()
			equals(t, left(t, l), 997, "left after")
			for range 2 {
				must(t, l.Take(t.Context(), "k", 1))
			}
		})
	}
}

// TestLease_CachesADenial checks that the store is called again when half a lease is refilled.
func TestLease_CachesADenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := leasing(t, store)
		used, denied, begun := 0, 0, time.Now()
		for time.Since(begun) < 3*time.Second {
			d, err := l.Decide(t.Context(), "k")
			switch {
			case err != nil:
				t.Fatal(err)
			case d.Allowed:
				used++
			case d.RetryAfter <= 0 || d.RetryAfter > 6*time.Millisecond:
				t.Fatalf("to retry after %v", d.RetryAfter)
			default:
				denied++
				time.Sleep(time.Millisecond / 4)
			}
		}
		if used < 3990 || used > 4010 {
			t.Errorf("%d used in 3 s, want 4,000 and at most a lease more or less", used)
		}
		if calls := store.calls.Load(); calls > int64(used/3) || denied < 1000 {
			t.Errorf("%d calls for %d tokens and %d denials", calls, used, denied)
		}
	})
}

func TestLease_IsAtMostAQuarterOfTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limit          bucket.Limit
			lease, replica int
			want           int64
		}{
			{bucket.PerSecond(1_000_000), 100, 1, 100},
			{bucket.PerSecond(1000), 100, 1, 10},
			{bucket.PerSecond(1000), 100, 50, 5},
			{bucket.PerSecond(8), 100, 2, 1},
			{bucket.PerSecond(7), 100, 2, 0},
			{bucket.Limit{Capacity: 1 << 40, Refill: 1e9}, 1e9, 1, 1e7},
			{bucket.Limit{Capacity: 1000, Algorithm: bucket.Fixed}, 100, 1, 10},
		} {
			l := limiter(t, bucket.Config{Store: newRemote(), Limit: c.limit, Lease: int64(c.lease), Replicas: c.replica, LeaseFor: time.Millisecond})
			must(t, l.Take(t.Context(), "k", 1))
			equals(t, c.limit.Capacity-1-left(t, l), c.want, "%+v, %d replicas: fetched ahead", c.limit, c.replica)
			time.Sleep(time.Second)
		}
	})
}

// TestLease_DoesNotUseALocalShare checks that no token of a local share is fetched ahead.
func TestLease_DoesNotUseALocalShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFailing()
		l := limiter(t, bucket.Config{
			Store: store, Limit: bucket.Limit{Capacity: 1000, Refill: 1000, Period: time.Second}, Lease: 10, OnFailure: bucket.LocalShare,
		})
		for range 1500 {
			_, _ = l.Decide(t.Context(), "k")
		}
		if s := l.Stats(); s.FailedOpen != 1000 || s.FailedClosed != 500 {
			t.Errorf("stats %+v, want all of the capacity granted", s)
		}
	})
}

// TestLease_EndedContext checks that a request with an ended context takes no token of the store
// or of a lease, and no slot.
func TestLease_EndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := leasing(t, store)
		ended, end := context.WithCancel(t.Context())
		end()
		ask := func(when string) {
			if d, err := l.Decide(ended, "k"); !errors.Is(err, context.Canceled) || d.Allowed || d.Limit != 1000 {
				t.Errorf("%s: got %+v, %v want context.Canceled", when, d, err)
			}
		}
		ask("at first")
		_, _ = l.Decide(t.Context(), "k")
		ask("beside a lease")
		for i := range 10 {
			if d, err := l.Decide(t.Context(), "k"); err != nil || d.Source != bucket.SourceLease || d.Remaining != int64(9-i) {
				t.Errorf("got %+v, %v want the lease's", d, err)
			}
		}
		equals(t, store.calls.Load(), 1, "calls")
	})
}

// TestLease_AfterClose checks that no tokens are fetched ahead or kept after Close.
func TestLease_AfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		l := leasing(t, store)
		store.set(gate, nil)
		go func() { _, _ = l.Decide(t.Context(), "k") }()
		synctest.Wait()
		_ = l.Close()
		close(gate)
		synctest.Wait()
		equals(t, left(t, l), 999, "left (one is used, and ten came too late to be kept)")
		for i := range int64(3) {
			decided(t, l, true, bucket.SourceStore, "after Close")
			equals(t, left(t, l), 998-i, "left, with nothing fetched ahead")
		}
	})
}

// slowReturn is a store that takes tokens back in 20 ms.
type slowReturn struct {
	*remote

	returned *atomic.Int64
}

func (s slowReturn) Return(context.Context, string, bucket.Limit, int64) error {
	time.Sleep(20 * time.Millisecond)
	s.returned.Add(1)
	return nil
}

// TestClose_GivesBackManyLeases within the StoreTimeout of 50 ms.
func TestClose_GivesBackManyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowReturn{newRemote(), new(atomic.Int64)}
		l := leasing(t, store)
		for i := range 10 {
			_, _ = l.Decide(t.Context(), strconv.Itoa(i))
		}
		_ = l.Close()
		equals(t, store.returned.Load(), 10, "leases given back")
	})
}

// TestLease_CachedDenialOfAFixedBucket checks that the store is called again when the next period
// begins.
func TestLease_CachedDenialOfAFixedBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1970 * time.Millisecond)))
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 100, Algorithm: bucket.Fixed}, Lease: 100})
		_, _ = l.DecideN(t.Context(), "k", 100)
		for _, want := range []bucket.Source{bucket.SourceStore, bucket.SourceLease} {
			if d, err := l.Decide(t.Context(), "k"); err != nil || d.Allowed || d.Source != want || d.RetryAfter != 30*time.Millisecond {
				t.Errorf("got %+v, %v want denied by %v for 30ms", d, err, want)
			}
		}
		time.Sleep(30 * time.Millisecond)
		decided(t, l, true, bucket.SourceStore, "as the period begins")
	})
}

// TestLease_Renewed checks that a renewed lease is kept for LeaseFor from then on, and then given
// back.
func TestLease_Renewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leasing(t, newRemote())
		begun := time.Now()
		for range 11 {
			_, _ = l.Decide(t.Context(), "k") // all of a lease
		}
		time.Sleep(50 * time.Millisecond)
		_, _ = l.Decide(t.Context(), "k") // and ten ahead, at 50 ms
		for _, at := range []time.Duration{99, 101, 149} {
			time.Sleep(at*time.Millisecond - time.Since(begun))
			decided(t, l, true, bucket.SourceLease, "after %v", time.Since(begun))
		}
		_, _ = l.DecideAtMost(t.Context(), "k", 1000) // of the store: all
		time.Sleep(time.Millisecond)
		synctest.Wait()
		equals(t, left(t, l), 8, "left of the lease, and of the last millisecond")
		time.Sleep(time.Second)
		decided(t, l, true, bucket.SourceStore, "a second later")
		equals(t, left(t, l), 989, "left, with a whole lease fetched anew")
	})
}
