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

// mute is a store that takes nothing back.
type mute struct{ bucket.Store }

func (mute) Return(context.Context, string, bucket.Limit, int64) error { return errDown }

// TestReturnGivesBackNoMoreThanTheBucketHolds gives back what was taken, and never more than the bucket holds.
func TestReturnGivesBackNoMoreThanTheBucketHolds(t *testing.T) {
	for name, elsewhere := range map[string]bool{"memory": false, "elsewhere": true} {
		for _, a := range []bucket.Algorithm{bucket.Continuous, bucket.Fixed} {
			synctest.Test(t, func(t *testing.T) {
				var store bucket.Store
				if elsewhere {
					store = newRemote()
				}
				l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 10, Refill: 1, Period: 1000 * time.Hour, Algorithm: a}})
				_, _ = l.AllowN(t.Context(), "k", 6)
				for _, c := range []struct {
					n, want int64
					err     error
				}{{-1, 4, bucket.ErrNegative}, {math.MinInt64, 4, bucket.ErrNegative}, {0, 4, nil}, {2, 6, nil}, {math.MaxInt64, 10, nil}, {1, 10, nil}} {
					if err := l.Return(t.Context(), "k", c.n); !errors.Is(err, c.err) || left(t, l) != c.want {
						t.Errorf("%s, %v: return of %d: got %v and %d left want %v and %d", name, a, c.n, err, left(t, l), c.err, c.want)
					}
				}
				ended, end := context.WithCancel(t.Context())
				end()
				if err := l.Return(ended, "k", 1); !errors.Is(err, context.Canceled) || errors.Is(err, bucket.ErrStore) {
					t.Errorf("%s, %v: got %v want context.Canceled", name, a, err)
				}
			})
		}
	}
}

// TestReturnToAStoreThatTakesNothingBack says so.
func TestReturnToAStoreThatTakesNothingBack(t *testing.T) {
	l := limiter(t, bucket.Config{Store: mute{newRemote()}, Limit: bucket.PerSecond(10)})
	if err := l.Return(t.Context(), "k", 1); !errors.Is(err, bucket.ErrStore) || !errors.Is(err, errDown) {
		t.Errorf("got %v want ErrStore, and why", err)
	}
}
