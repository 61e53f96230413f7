package bucket_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestFasterLimitIsOfUseAtOnce: a bucket whose level is far ahead (a slower limit before, or a clock that was ahead) grants nothing until then.
func TestFasterLimitIsOfUseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.Limit{Capacity: 1000, Refill: 1, Period: time.Hour}})
		_, _ = l.AllowN(t.Context(), "k", 1000)
		if err := l.SetLimit(bucket.PerSecond(1000)); err != nil {
			t.Fatal(err)
		}
		d, _ := l.Allow(t.Context(), "k")
		time.Sleep(d.RetryAfter)
		if again, _ := l.Allow(t.Context(), "k"); !again.Allowed {
			t.Errorf("told to come again after %v: %+v", d.RetryAfter, again)
		}
		time.Sleep(24 * time.Hour)
		if again, _ := l.Allow(t.Context(), "k"); !again.Allowed {
			t.Errorf("a day later: %+v", again)
		}
	})
}

func TestClockFarAhead(t *testing.T) {
	now := int64(1.8e18)
	for _, l := range []bucket.Limit{{Capacity: 10, Refill: 10, Period: time.Second}, {Capacity: 10, Refill: 10, Period: time.Second, Algorithm: bucket.Fixed}} {
		v, _ := bucket.Level{}.Take(l, now+10*int64(time.Hour), 10, 10) // the clock is ten hours ahead
		at, waited := now, time.Duration(0)
		for range 100 {
			var d bucket.Decision
			if v, d = v.Take(l, at, 1, 1); d.Allowed {
				break
			}
			at, waited = at+int64(d.RetryAfter), waited+d.RetryAfter
		}
		if waited > time.Second {
			t.Errorf("%v: waited %v as told, and still denied; an empty bucket keeps nobody for more than 1s", l.Algorithm, waited)
		}
	}
}

// TestEveryNothing: one per nothing is one per second.
func TestEveryNothing(t *testing.T) {
	if l, err := bucket.New(bucket.Config{Name: "x", Limit: bucket.Every(time.Second / 3e9)}); err == nil {
		t.Errorf("Every(0) was taken for %+v", l.Stats().Limit)
	}
}
