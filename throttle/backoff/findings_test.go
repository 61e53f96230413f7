package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestOutageOfAServiceThatWasNeverAtItsLimit is the commonest outage: nobody has ever learned what the service bears at most.
func TestOutageOfAServiceThatWasNeverAtItsLimit(t *testing.T) {
	for _, out := range []time.Duration{time.Minute, 10 * time.Minute} {
		sc := scenario{workers: 8, latency: 40 * time.Millisecond, each: out, rates: []float64{1000, 1e-9, 1000}}
		const demand = 200.0 / 1000 // of the rate
		o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
		if got := o.phases[2].whole / demand; got < 0.25 {
			t.Errorf("outage of %v: share of what the workers can ask for that was served in the %v after it: got %.3f want at least 0.25", out, out, got)
		}
	}
}

// TestAJobThatBeginsInAnOutage has seen nothing served.
func TestAJobThatBeginsInAnOutage(t *testing.T) {
	sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: time.Minute, rates: []float64{1e-9, 200, 200}}
	o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
	if got := o.phases[2].whole; got < 0.97 {
		t.Errorf("goodput in the second minute after the outage: got %.3f want at least 0.97", got)
	}
}

// TestCapacityFallsFar is an autoscaler that goes down to a twentieth, and a service that bears few calls from the beginning.
func TestCapacityFallsFar(t *testing.T) {
	for _, rates := range [][]float64{{200, 10}, {5, 2.5}} {
		sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: 2 * time.Minute, rates: rates}
		o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
		for i, p := range o.phases {
			if p.throttled > 0.5 { // most of it while the right delay is searched
				t.Errorf("rates %v, %v/s: throttled: got %.2f want at most 0.5 (delay %v, right would be %.0f ms)", rates, rates[i], p.throttled, p.delay, 1e3/rates[i])
			}
		}
	}
}

// TestALowCapacityIsDoubled: a step down takes twenty successes, and to half the delay it takes thirty-five. Seven hundred successes at eight to
// sixteen a second are 60 s on average and 88 s at the slowest; the noise of delays comes on top.
func TestALowCapacityIsDoubled(t *testing.T) {
	const most = 110
	sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: 5 * time.Minute, rates: []float64{8, 16}}
	o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
	if got := o.phases[1].recovered; got < 0 || got > most {
		t.Errorf("from 8/s to 16/s: got recovered after %d s want at most %d", got, most)
	}
}

// TestManyCallsASecond is more than InitialInterval lets find: it is the shortest delay, and what is less is none.
func TestManyCallsASecond(t *testing.T) {
	for _, rate := range []float64{1000, 3000} {
		sc := scenario{workers: 64, latency: 10 * time.Millisecond, each: 20 * time.Second, rates: []float64{rate}}
		if p := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil)).phases[0]; p.whole < 0.9 || p.throttled > throttledMost {
			t.Errorf("%v/s: got goodput %.3f, throttled %.3f want at least 0.9, at most %v", rate, p.whole, p.throttled, throttledMost)
		}
	}
}

// TestAServiceThatSaysWhenToComeAgain says a second, as most do, at its limit too.
func TestAServiceThatSaysWhenToComeAgain(t *testing.T) {
	sc := steps(64)
	sc.retryAfter = time.Second
	o := simulate(t, sc, ours("ours", 1, backoff.Config{}, nil))
	for i, p := range o.phases {
		if p.goodput < 0.3 || p.throttled > 0.05 {
			t.Errorf("%v/s: got goodput %.2f, throttled %.2f want at least 0.30, at most 0.05", sc.rates[i], p.goodput, p.throttled)
		}
	}
}

func TestResetOfNoDelayIsNoStep(t *testing.T) {
	stepped := 0
	r := backoff.Must(backoff.New(backoff.Config{Name: "x", Hooks: backoff.Hooks{Stepped: func(backoff.StepEvent) { stepped++ }}}))
	r.Reset()
	if s := r.Stats(); s.Ups != 0 || stepped != 0 {
		t.Errorf("Reset without a delay: got %d steps up, %d events want none", s.Ups, stepped)
	}
}

// TestResetForgetsSlots: BackOff gives turns away ahead of time, up to many minutes.
func TestResetForgetsSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: 10 * time.Second, RandomizationFactor: -1}))
		for range 64 {
			r.BackOff().NextBackOff()
		}
		r.Reset()
		wait(t, r).Done(backoff.Throttled)
		begun := time.Now()
		wait(t, r).Done(backoff.Ignored)
		wait(t, r).Done(backoff.Ignored)
		if got := time.Since(begun); got > 20*time.Second {
			t.Errorf("two turns after Reset, 10s apart: got %v want at most 20s", got)
		}
	})
}

func TestNextBackOffIsAtMostMaxInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: 10 * time.Second}))
		for i := range 512 {
			if d := r.BackOff().NextBackOff(); d > 30*time.Second {
				t.Fatalf("NextBackOff of operation %d: got %v want at most MaxInterval, 30s", i, d)
			}
		}
	})
}

// TestBackOffDoesNotOvertake lets a worker stand in line while operations ask for their delays, one a gap.
func TestBackOffDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: -1}))
		wait(t, r).Done(backoff.Throttled)
		wait(t, r).Done(backoff.Ignored)
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

func TestClassifyTypedNil(t *testing.T) {
	var unavailable *faults.AvailabilityFailure
	var quota *faults.QuotaFailure
	for _, err := range []error{unavailable, quota, errors.Join(unavailable), errors.Join(quota, errors.New("x"))} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("Classify(%T, a nil pointer): got panic %v want an outcome", err, p)
				}
			}()
			backoff.Classify(err)
		}()
	}
}

// wait waits, which must not fail.
func wait(t *testing.T, r *backoff.Responsive) backoff.Permit {
	t.Helper()
	p, err := r.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
