package bucket_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestOverride_ofTheLimit is above SetLimit until it ends.
func TestOverride_ofTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)})
		defer l.Close()
		granted := func() (n int64) {
			time.Sleep(time.Hour)
			for l.Allow(t.Context(), "k") {
				n++
			}
			return n
		}
		check := func(when string, err error, now, code bucket.Limit) {
			t.Helper()
			gotNow, gotCode := l.Tuning()
			if err != nil || gotNow.Limit != now || gotCode.Limit != code || granted() != now.Capacity {
				t.Errorf("%s: got %v, %v in force and %v of the code, want %v and %v", when, err, gotNow, gotCode, now, code)
			}
		}
		check("at first", nil, bucket.PerSecond(1), bucket.PerSecond(1))
		check("overridden", l.Override(func(u *bucket.Tuning) { u.Limit.Capacity = 5 }), bucket.PerSecond(1).WithBurst(5), bucket.PerSecond(1))
		check("set below", l.SetLimit(bucket.PerSecond(3)), bucket.PerSecond(3).WithBurst(5), bucket.PerSecond(3))
		check("ended", l.Override(nil), bucket.PerSecond(3), bucket.PerSecond(3))
	})
}

func TestOverride_refusesInvalid(t *testing.T) {
	l, none := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), (*bucket.Limiter)(nil)
	defer l.Close()
	wrong := func(u *bucket.Tuning) { u.Limit.Capacity = -1 }
	for _, err := range []error{l.Override(wrong), l.CheckOverride(wrong)} {
		if err == nil || !strings.Contains(err.Error(), "Capacity") {
			t.Errorf("got %v", err)
		}
	}
	now, code := none.Tuning()
	if none.Override(nil) == nil || none.CheckOverride(nil) == nil || now != code {
		t.Error("a nil limiter: got no error")
	}
}
