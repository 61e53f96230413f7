package bucket_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestOverride_ofTheLimit is above SetLimit and Tune until it ends.
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
		check("overridden", l.Override(throttle.SourceHTTP, bucket.Patch{Capacity: new(int64(5))}), bucket.PerSecond(1).WithBurst(5), bucket.PerSecond(1))
		check("set below", l.SetLimit(bucket.PerSecond(3)), bucket.PerSecond(3).WithBurst(5), bucket.PerSecond(3))
		check("tuned below", l.Tune(bucket.Patch{Capacity: new(int64(3)), Refill: new(int64(4))}), bucket.PerSecond(4).WithBurst(5), bucket.PerSecond(4).WithBurst(3))
		check("ended", l.Override(throttle.SourceHTTP, bucket.Patch{}), bucket.PerSecond(4).WithBurst(3), bucket.PerSecond(4).WithBurst(3))
	})
}

// TestTune_refusesInvalid fields, and a limit that does not fit the fields of the code.
func TestTune_refusesInvalid(t *testing.T) {
	l, none := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), (*bucket.Limiter)(nil)
	defer l.Close()
	for want, wrong := range map[string]bucket.Patch{
		"Capacity is -1":  {Capacity: new(int64(-1))},
		"Refill is -1":    {Refill: new(int64(-1))},
		"Period is 1ns":   {Period: new(throttle.Duration(1))},
		"Capacity is 1e9": {Capacity: new(int64(1e9))},
	} {
		field, _, _ := strings.Cut(want, " ")
		for name, err := range map[string]error{"Tune": l.Tune(wrong), "Override": l.Override(throttle.SourceFile, wrong), "Validate": wrong.Validate()} {
			fits := name == "Validate" && want == "Capacity is 1e9" // for a limiter with a higher rate
			if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), field) {
				t.Errorf("%s, %s: got %v", want, name, err)
			}
		}
	}
	now, code := none.Tuning()
	if none.Override(throttle.SourceFile, bucket.Patch{}) == nil || none.Tune(bucket.Patch{}) == nil || now != code {
		t.Error("a nil limiter: got no error")
	}
}
