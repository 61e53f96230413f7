package bucket_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestLocalShareOfALongPeriod: LocalShare overflows.
func TestLocalShareOfALongPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limit    bucket.Limit
			replicas int
		}{
			{bucket.Limit{Capacity: 1000, Refill: 1000, Period: 366 * 24 * time.Hour}, 300},
			{bucket.Limit{Capacity: 1e6, Refill: 1e6, Period: 30 * 24 * time.Hour}, 5000},
			{bucket.Limit{Capacity: 1e6, Refill: 1e6, Period: 24 * time.Hour}, 200_000},
		} {
			store := newRemote()
			store.set(nil, errDown)
			l := limiter(t, bucket.Config{Store: store, Limit: c.limit, OnFailure: bucket.LocalShare, Replicas: c.replicas})
			share, granted := c.limit.Capacity/int64(c.replicas), int64(0)
			for range 3 * share {
				d, err := l.Allow(t.Context(), "k")
				if err != nil || d.RetryAfter < 0 || d.ResetAfter < 0 {
					t.Errorf("%+v, %v", d, err)
					break
				}
				granted += d.Granted
			}
			if granted != share {
				t.Errorf("%+v of %d: %d granted, want the share of %d", c.limit, c.replicas, granted, share)
			}
		}
	})
}

func TestLocalShareRefillsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(nil, errDown)
		limit := bucket.Limit{Capacity: 366, Refill: 366, Period: 366 * 24 * time.Hour} // one a day
		l := limiter(t, bucket.Config{Store: store, Limit: limit, OnFailure: bucket.LocalShare, Replicas: 3})
		_, _ = l.AllowAtMost(t.Context(), "k", 122)
		time.Sleep(30 * 24 * time.Hour)
		if d, _ := l.Peek(t.Context(), "k"); d.Remaining > 10 {
			t.Errorf("%d came back in 30 days, want a third of 30", d.Remaining)
		}
	})
}

// TestFailOpenGrantsNoMoreThanTheBucketHolds: FailOpen grants more than the bucket can ever hold.
func TestFailOpenGrantsNoMoreThanTheBucketHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(nil, errDown)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(10)})
		for range 3 {
			if d, err := l.AllowAtMost(t.Context(), "k", math.MaxInt64); err != nil || d.Granted > 10 {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if s := l.Stats(); s.Tokens > 30 {
			t.Errorf("%+v", s)
		}
	})
}

// TestWhoeverIsTooLateForAPolicyIsToldSo: the store may be back within a second, for which it is worth to wait; whoever has not so long need not.
func TestWhoeverIsTooLateForAPolicyIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Every(time.Hour), OnFailure: bucket.LocalShare})
		store.set(nil, errDown)
		if err := l.Take(t.Context(), "k", 1); err != nil { // the share
			t.Fatal(err)
		}
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
		go func() { _ = l.Wait(t.Context(), "k", 1) }() // who has all the time there is
		synctest.Wait()
		if after, err := wait(time.Millisecond); !errors.Is(err, bucket.ErrDenied) || after != 0 {
			t.Errorf("behind somebody: got %v after %v", err, after)
		}
		if s := l.Stats(); s.FailedClosed != 4 || s.Denied != 0 || s.FailedOpen != 1 {
			t.Errorf("stats: got %+v want the denials to be the policy's", s)
		}
		store.set(nil, nil)
		time.Sleep(2 * time.Second) // a rest of the store's, and a look
		if s := l.Stats(); s.Granted != 1 || s.Waiting != 0 {
			t.Errorf("soon after the store is back: got %+v want him served", s)
		}
	})
}
