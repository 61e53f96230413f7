package backoff_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

func graphConfig() backoff.Config {
	return backoff.Config{
		Name: "document", Mode: backoff.Sleep, InitialInterval: time.Millisecond, MaxInterval: 15 * time.Minute, MaxRandomization: 2 * time.Minute,
		UpMultiplier: 1.5, DownMultiplier: 0.6, RandomizationFactor: -1, DownMultiplierThreshold: 5,
	}
}

// TestSleepTrace plays the graph of the source document: the service throttles 15 calls, then each call
// that comes within 60 ms of the call before.
func TestSleepTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(graphConfig()))
		begun := time.Now()
		for n := range 15 {
			if got, want := slept(t, r, false), time.Duration(1e6*math.Pow(1.5, float64(n))); (got - want).Abs() > 30*time.Nanosecond {
				t.Errorf("failure %d: got %v want %v", n+1, got, want)
			}
		}
		equals(t, r.Delay(), 291929238, "after the 15th failure")
		demandNear(t, "slept in all", time.Since(begun), 873.8, 0.05)
		var levels []time.Duration
		failures := 0
		for range 200 {
			ok := r.Delay() >= 60*time.Millisecond
			if !ok {
				failures++
			}
			before := r.Delay()
			if slept(t, r, ok); r.Delay() != before {
				levels = append(levels, r.Delay())
			}
		}
		for i, want := range []float64{175.16, 105.09, 63.057, 37.834, 56.751, 85.127} {
			demandNear(t, "level", levels[i], want, 0.005)
		}
		equals(t, failures, 37, "failures in the 200 calls after it")
		s := r.Stats()
		if s.Slept != 215 || s.SleepTime != time.Since(begun) || s.Ups != uint64(15+failures) {
			t.Errorf("stats: got %+v want 215 sleeps of %v, %d up", s, time.Since(begun), 15+failures)
		}
	})
}

func slept(t *testing.T, r *backoff.Responsive, ok bool) time.Duration {
	t.Helper()
	begun, record := time.Now(), r.SleepOnFailure
	if ok {
		record = r.SleepOnSuccess
	}
	must(t, record(t.Context()))
	return time.Since(begun)
}

func demandNear(t *testing.T, what string, got time.Duration, milliseconds, within float64) {
	t.Helper()
	if ms := float64(got) / 1e6; math.Abs(ms-milliseconds) > within {
		t.Errorf("%s: got %v ms want %v", what, ms, milliseconds)
	}
}

// TestSleepOnFailureConcurrently wants one step of many workers that see one overload.
func TestSleepOnFailureConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(graphConfig()))
		atOnce(make([]struct{}, 512), func(struct{}) { _ = r.SleepOnFailure(t.Context()) })
		if s := r.Stats(); s.Ups != 1 || s.Throttled != 512 || s.Slept != 512 || s.SleepTime != 512*time.Millisecond {
			t.Errorf("512 failures at once: got %+v want one step, 512 sleeps of 1ms", s)
		}
	})
}

func TestStatsCountTimeSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := graphConfig()
		c.InitialInterval = time.Minute
		r := backoff.Must(backoff.New(c))
		ctx, cancel := timeout(t, time.Second)
		defer cancel()
		if err := r.SleepOnFailure(ctx); err == nil {
			t.Error("SleepOnFailure whose context ends: got no error")
		}
		if s := r.Stats(); s.SleepTime != time.Second || s.Slept != 0 || s.Throttled != 1 {
			t.Errorf("got %+v want 1s and no complete sleep", s)
		}
		equals(t, slept(t, r, true), time.Minute, "SleepOnSuccess with a delay of a minute")
	})
}

func TestBackOffDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: -1}))
		wait(t, r).Finish(backoff.Throttled)
		wait(t, r).Finish(backoff.Ignored)
		begun := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				r.BackOff().NextBackOff()
				sleepFor(ctx, 900*time.Millisecond)
			}
		}()
		waiting, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := r.Wait(waiting); err != nil {
			t.Errorf("Wait beside NextBackOff, gap 1s: got %v after %v want a turn within seconds", err, time.Since(begun))
		}
		stop()
		synctest.Wait()
	})
}

// TestBackOffSuccessAfterIdleReset wants that a late success does not restore an idle delay.
func TestBackOffSuccessAfterIdleReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slow(t, backoff.Config{IdleReset: time.Minute}, 10*time.Second)
		b := r.BackOff()
		time.Sleep(time.Minute)
		b.Reset()
		b.Succeeded()
		equals(t, r.Delay(), 0, "the delay after IdleReset and a success")
	})
}
