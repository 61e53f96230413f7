package backoff_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestHostileRetryAfter has a service that sends extreme or negative delays, in each mode.
func TestHostileRetryAfter(t *testing.T) {
	const longest = 2 * time.Minute
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		for _, wish := range []time.Duration{math.MinInt64, -1, 0, 1, time.Hour, 100 * 365 * 24 * time.Hour, math.MaxInt64} {
			synctest.Test(t, func(t *testing.T) {
				r, err := backoff.New(backoff.Config{Name: "partner", Mode: mode, MaxInterval: longest})
				if err != nil {
					t.Fatal(err)
				}
				for range 50 {
					begun := time.Now()
					p, err := r.Wait(context.Background())
					if took := time.Since(begun); err != nil || took > longest {
						t.Fatalf("%v, a service that wants %v: got a wait of %v, %v want at most %v", mode, wish, took, err, longest)
					}
					p.Finish(backoff.ThrottledFor(wish))
					if got := r.Delay(); got < 0 || got > longest {
						t.Fatalf("%v, a service that wants %v: got the delay %v want 0 to %v", mode, wish, got, longest)
					}
				}
			})
		}
	}
}
