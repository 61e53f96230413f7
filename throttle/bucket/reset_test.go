package bucket_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestResetFillsABucket wherever it is, lets those in line have of it, and ends what was known of its being empty.
func TestResetFillsABucket(t *testing.T) {
	down := newRemote()
	for name, c := range map[string]bucket.Config{
		"memory": {}, "remote": {Store: newRemote()}, "with leases": {Store: newRemote(), Lease: 10},
		"local share": {Store: down, OnFailure: bucket.LocalShare},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if down.set(nil, nil); name == "local share" {
					down.set(nil, errDown)
				}
				c.Limit = bucket.Per(50, time.Hour)
				l := limiter(t, c)
				_, _ = l.AllowN(t.Context(), "other", 50)
				_, _ = l.AllowN(t.Context(), "k", 50)
				if err := l.Take(t.Context(), "k", 1); !errors.Is(err, bucket.ErrDenied) {
					t.Fatalf("an empty bucket: got %v", err)
				}
				var want error // what Reset returns
				if name == "local share" {
					want = bucket.ErrStore // has not done it, but the share is filled
				}
				if err := l.Reset(t.Context(), "k"); !errors.Is(err, want) {
					t.Fatalf("Reset: got %v want %v", err, want)
				}
				if err := l.Take(t.Context(), "k", 1); err != nil {
					t.Errorf("one of a bucket that was filled: got %v", err)
				}
				if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining < 40 {
					t.Errorf("a bucket that was filled: got %+v, %v", d, err)
				}
				if err := l.Take(t.Context(), "other", 1); !errors.Is(err, bucket.ErrDenied) {
					t.Errorf("another bucket: got %v want it denied", err)
				}
				begun, served := time.Now(), make(chan error, 1)
				go func() { served <- l.Wait(context.Background(), "other", 1) }()
				synctest.Wait()
				if err := l.Reset(t.Context(), "other"); !errors.Is(err, want) {
					t.Errorf("Reset: got %v want %v", err, want)
				}
				if err := <-served; err != nil || time.Since(begun) > 0 {
					t.Errorf("somebody in line: got %v after %v", err, time.Since(begun))
				}
				over, cancel := context.WithCancel(t.Context())
				cancel()
				if err := l.Reset(over, "k"); !errors.Is(err, context.Canceled) || errors.Is(err, bucket.ErrStore) {
					t.Errorf("a context that is over: got %v", err)
				}
			})
		})
	}
}
