package retry_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func tune(t *testing.T, r *retry.Retrier, p retry.Patch) {
	t.Helper()
	if err := r.Tune(p); err != nil {
		t.Fatal(err)
	}
}

// TestTune_off makes the first attempt of each call, and no other.
func TestTune_off(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(t, retry.Config{Budget: generous()})
		want := func(when string, attempts int, denied map[retry.Reason]uint64) {
			t.Helper()
			calls := 0
			err := r.Do(t.Context(), throttle.Medium, answers(&calls, rejected(), rejected()))
			if calls != attempts || (err == nil) != (attempts == 3) || !maps.Equal(denials(r), denied) {
				t.Errorf("%s: got %d attempts, %v, %v want %d and %v", when, calls, err, denials(r), attempts, denied)
			}
		}
		want("at first", 3, map[retry.Reason]uint64{})
		tune(t, r, retry.Patch{Mode: new(throttle.ModeOff)})
		want("off", 1, map[retry.Reason]uint64{retry.ReasonOff: 1})
		if err := r.Override(throttle.SourceHTTP, retry.Patch{Mode: new(throttle.ModeEnforce)}); err != nil {
			t.Fatal(err)
		}
		want("overridden", 3, map[retry.Reason]uint64{retry.ReasonOff: 1})
		if err := r.Override(throttle.SourceHTTP, retry.Patch{}); err != nil || r.Stats().Mode != throttle.ModeOff {
			t.Errorf("after the override: got %v, %v", r.Stats().Mode, err)
		}
		calls := 0
		_, _ = retry.Hedge(t.Context(), r, throttle.Medium, time.Second, func(context.Context) (int, error) {
			calls++
			time.Sleep(time.Minute)
			return 0, nil
		})
		if calls != 1 {
			t.Errorf("a hedged call: got %d attempts want 1", calls)
		}
	})
}

// TestTune_offEndsWaitingCalls when their delay is over.
func TestTune_offEndsWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(t, retry.Config{Budget: generous(), Delay: retry.Delay{Initial: 10 * time.Second}})
		time.AfterFunc(time.Second, func() { tune(t, r, retry.Patch{Mode: new(throttle.ModeOff)}) })
		calls := 0
		err := r.Do(t.Context(), throttle.Medium, answers(&calls, rejected()))
		if calls != 1 || !errors.Is(err, errBusy) || r.Stats().Denied.Count(retry.ReasonOff) != 1 || r.Stats().Calls[1] != 1 {
			t.Errorf("got %d attempts, %v and %+v want one", calls, err, r.Stats())
		}
	})
}

func TestTune_attempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(t, retry.Config{Attempts: 2, Budget: generous()})
		for _, attempts := range []int{2, 5, 1} {
			tune(t, r, retry.Patch{Attempts: &attempts})
			calls := 0
			_ = r.Do(t.Context(), throttle.Medium, answers(&calls, rejected(), rejected(), rejected(), rejected(), rejected()))
			if calls != attempts {
				t.Errorf("got %d attempts want %d", calls, attempts)
			}
		}
		if got := r.Stats().Calls; len(got) != 6 || got[1] != 1 || got[2] != 1 || got[5] != 1 {
			t.Errorf("got %v want one call with 1, 2 and 5 attempts", got)
		}
	})
}

func TestTune_budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(t, retry.Config{Attempts: 2, Delay: retry.Delay{Initial: time.Microsecond}})
		want := func(what string, retries uint64, limit float64) {
			t.Helper()
			if got := retriesOf(t, r); got != retries || r.Stats().Limit != limit || r.Stats().Left != 0 {
				t.Errorf("%s: got %d retries of %v want %d of %v", what, got, r.Stats().Limit, retries, limit)
			}
		}
		accept(t, r, 100)
		want("at first", 13, 13)
		tune(t, r, retry.Patch{Share: new(0.2)})
		want("with twice the share", 10, 23)
		tune(t, r, retry.Patch{Reserve: new(1.0)})
		want("with a larger reserve", 7, 30)
		tune(t, r, retry.Patch{Share: new(0.1), Reserve: new(-1.0)})
		want("with less than was used", 0, 10)
	})
}

// TestTune_refusesInvalid values, and a mode without a meaning for retries.
func TestTune_refusesInvalid(t *testing.T) {
	r, none := newRetrier(t, retry.Config{}), (*retry.Retrier)(nil)
	before, _ := r.Tuning()
	for want, p := range map[string]retry.Patch{
		"retry: Patch.Mode is shadow: want ModeEnforce, or ModeOff for no retries": {Mode: new(throttle.ModeShadow)},
		"retry: Patch.Attempts is 0: want 1 to 10":                                 {Attempts: new(0)},
		"retry: Patch.Share is 0: want more than 0, at most 1":                     {Share: new(0.0)},
		"retry: Patch.Reserve is 1e+07: want at most 1e6":                          {Reserve: new(1e7), Attempts: new(2)},
	} {
		for _, err := range []error{r.Tune(p), r.Override(throttle.SourceFile, p), p.Validate()} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v want %s", err, want)
			}
		}
	}
	if now, code := r.Tuning(); now != before || code != before {
		t.Errorf("got %v and %v want %v", now, code, before)
	}
	if _, err := retry.New(retry.Config{Name: "orders", Mode: throttle.ModeShadow}); err == nil || !strings.Contains(err.Error(), "retry: Config.Mode is shadow") {
		t.Errorf("got %v", err)
	}
	now, code := none.Tuning()
	if none.Tune(retry.Patch{}) == nil || none.Override(throttle.SourceFile, retry.Patch{}) == nil || now != code {
		t.Error("a nil Retrier: got no error")
	}
}
