package backoff_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

func waits(r *backoff.Responsive) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Wait":           func(ctx context.Context) error { _, err := r.Wait(ctx); return err },
		"SleepOnFailure": r.SleepOnFailure,
		"SleepOnSuccess": r.SleepOnSuccess,
		"Do": func(ctx context.Context) error {
			return r.Do(ctx, func(ctx context.Context) error { return ctx.Err() })
		},
		"Do of a value": func(ctx context.Context) error {
			_, err := backoff.Do(ctx, r, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
			return err
		},
	}
}

func TestNilContext(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode, InitialInterval: time.Microsecond, MaxInterval: 2 * time.Microsecond}))
		for name, wait := range waits(r) {
			for range 3 {
				if err := wait(nil); err != nil {
					t.Errorf("%v, %s: got %v want nil", mode, name, err)
				}
			}
		}
	}
}

func TestNilOrZeroResponsive(t *testing.T) {
	for name, r := range map[string]*backoff.Responsive{"nil": nil, "zero": {}} {
		for way, wait := range waits(r) {
			if err := wait(t.Context()); err == nil || !strings.Contains(err.Error(), "nil or zero Responsive") {
				t.Errorf("%s: %s: got %v want an error that says so", name, way, err)
			}
		}
		r.Reset()
		b := r.BackOff()
		b.Succeeded()
		if d := b.NextBackOff(); d != 0 || r.Name() != "" || r.Delay() != 0 || r.Close() != nil || r.Stats() != (backoff.Stats{}) {
			t.Errorf("%s: got %v, %q, %v, %+v want nothing", name, d, r.Name(), r.Delay(), r.Stats())
		}
	}
	new(backoff.BackOff).Reset()
}

// TestErrClosedIsIgnored by a throttle around the call, or another backoff.
func TestErrClosedIsIgnored(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	_ = r.Close()
	err := r.Do(t.Context(), func(context.Context) error { t.Error("called"); return nil })
	value, other := backoff.Do(t.Context(), r, func(context.Context) (int, error) { t.Error("called"); return 1, nil })
	if value != 0 || !errors.Is(other, backoff.ErrClosed) {
		t.Errorf("Do of a value: got %v, %v want 0, %v", value, other, backoff.ErrClosed)
	}
	if !errors.Is(err, backoff.ErrClosed) || !errors.Is(err, throttle.ErrShed) || throttle.DefaultClassify(t.Context(), err) != throttle.Ignored ||
		throttle.FaultOf(err) != throttle.FaultShed || backoff.Classify(err) != backoff.Ignored {
		t.Errorf("got %v, %v, %v", err, throttle.DefaultClassify(t.Context(), err), backoff.Classify(err))
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

// TestResetVoidsReservedTurns: BackOff reserves turns in the future, up to many minutes.
func TestResetVoidsReservedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: 10 * time.Second, RandomizationFactor: -1}))
		for range 64 {
			r.BackOff().NextBackOff()
		}
		r.Reset()
		wait(t, r).Finish(backoff.Throttled)
		begun := time.Now()
		wait(t, r).Finish(backoff.Ignored)
		wait(t, r).Finish(backoff.Ignored)
		if got := time.Since(begun); got > 20*time.Second {
			t.Errorf("two turns after Reset, 10s apart: got %v want at most 20s", got)
		}
	})
}

// TestResetEndsWaits of the delay and of a Retry-After.
func TestResetEndsWaits(t *testing.T) {
	for name, prepare := range map[string]func(r *backoff.Responsive, p, q backoff.Permit){
		"a delay":              func(_ *backoff.Responsive, p, _ backoff.Permit) { p.Finish(backoff.Throttled) },
		"a delay, and no call": func(_ *backoff.Responsive, p, _ backoff.Permit) { p.Finish(backoff.ThrottledFor(30 * time.Second)) },
		"no call, without delay": func(r *backoff.Responsive, _, q backoff.Permit) {
			r.Reset()
			q.Finish(backoff.ThrottledFor(30 * time.Second))
		},
	} {
		eachMode(t, func(t *testing.T, mode backoff.Mode) {
			r := backoff.Must(backoff.New(backoff.Config{Name: "x", Mode: mode, InitialInterval: 10 * time.Second, RandomizationFactor: -1}))
			prepare(r, wait(t, r), wait(t, r))
			begun := time.Now()
			var all sync.WaitGroup
			var permits [3]backoff.Permit
			for i := range permits {
				all.Go(func() { permits[i] = wait(t, r) })
			}
			synctest.Wait()
			equals(t, r.Stats().Waiting, 3, "%v, %s: waiting", mode, name)
			time.Sleep(time.Second)
			r.Reset()
			all.Wait()
			equals(t, time.Since(begun), time.Second, "%v, %s: the last turn, at Reset", mode, name)
			atOnce(permits[:], func(p backoff.Permit) { p.Finish(backoff.Throttled) })
			if s := r.Stats(); s.Waiting != 0 || s.Slept != 3 || s.Delay != 10*time.Second {
				t.Errorf("%v, %s: got %+v want three waits, and that the outcomes of their calls count", mode, name, s)
			}
		})
	}
}

// TestIdleReset wants that a call after IdleReset does not wait, and that a call before it prevents the reset.
func TestIdleReset(t *testing.T) {
	const idle, delay = time.Minute, time.Second
	for _, tt := range []struct {
		reset  time.Duration
		pauses []time.Duration // between calls
		want   time.Duration
	}{
		{idle, []time.Duration{idle - 1}, delay},
		{idle, []time.Duration{idle}, 0},
		{idle, []time.Duration{idle - 2*delay, idle - 2*delay}, delay},
		{idle, []time.Duration{idle - 2*delay, idle}, 0},
		{0, []time.Duration{5*time.Minute - 1}, delay},
		{0, []time.Duration{5 * time.Minute}, 0},
		{-1, []time.Duration{1000 * time.Hour}, delay},
	} {
		for _, look := range []bool{true, false} { // at the delay, which resets it too
			eachMode(t, func(t *testing.T, mode backoff.Mode) {
				r := slow(t, backoff.Config{Mode: mode, IdleReset: tt.reset}, delay)
				for i, pause := range tt.pauses {
					time.Sleep(pause)
					if i < len(tt.pauses)-1 {
						wait(t, r) // never done
					}
				}
				if look && r.Delay() != tt.want {
					t.Errorf("%v, %+v: got a delay of %v", mode, tt, r.Delay())
				}
				begun := time.Now()
				if wait(t, r); tt.want == 0 && time.Since(begun) != 0 || r.Delay() != tt.want {
					t.Errorf("%v, %+v: got a wait of %v, a delay of %v", mode, tt, time.Since(begun), r.Delay())
				}
			})
		}
	}
}

// TestWaitingPreventsIdleReset wants that a delay is not reset while a call waits, nor right after.
func TestWaitingPreventsIdleReset(t *testing.T) {
	eachMode(t, func(t *testing.T, mode backoff.Mode) {
		r := slow(t, backoff.Config{Mode: mode, IdleReset: time.Minute}, time.Hour)
		go func() { _, _ = r.Wait(t.Context()) }()
		time.Sleep(30 * time.Minute)
		equals(t, r.Delay(), time.Hour, "%v, while a call waits", mode)
		time.Sleep(30*time.Minute + time.Second)
		equals(t, r.Delay(), time.Hour, "%v, a second after the wait", mode)
	})
}

// TestIdleResetByRetries wants that a call throttled after IdleReset gets the first delay. Waiting for the duration of NextBackOff
// is not idle, however short IdleReset is.
func TestIdleResetByRetries(t *testing.T) {
	const idle = time.Minute
	for name, again := range map[string]func(r *backoff.Responsive, b *backoff.BackOff) time.Duration{
		"SleepOnFailure": func(r *backoff.Responsive, _ *backoff.BackOff) time.Duration {
			begun := time.Now()
			_ = r.SleepOnFailure(context.Background())
			return time.Since(begun)
		},
		"another operation": func(r *backoff.Responsive, _ *backoff.BackOff) time.Duration { return r.BackOff().NextBackOff() },
		"one that goes on":  func(_ *backoff.Responsive, b *backoff.BackOff) time.Duration { return b.NextBackOff() },
	} {
		eachMode(t, func(t *testing.T, mode backoff.Mode) {
			var steps []bool
			r := backoff.Must(backoff.New(backoff.Config{
				Name: "x", Mode: mode, InitialInterval: 10 * time.Second, MaxInterval: time.Hour, UpMultiplier: 10, RandomizationFactor: -1, IdleReset: idle,
				Hooks: backoff.Hooks{Stepped: func(e backoff.StepEvent) { steps = append(steps, e.Up()) }},
			}))
			b := r.BackOff()
			for _, want := range []time.Duration{10 * time.Second, 100 * time.Second, 1000 * time.Second} {
				equals(t, b.NextBackOff(), want, "%v, %s: NextBackOff", mode, name)
				time.Sleep(want) // longer than IdleReset
			}
			time.Sleep(idle)
			equals(t, again(r, b), 10*time.Second, "%v, %s: after IdleReset", mode, name)
			if s := r.Stats(); len(steps) != 5 || steps[3] || !steps[4] || s.Ups != 4 || s.Downs != 1 {
				t.Errorf("%v, %s: got steps up %v, %+v want three, one down, one up", mode, name, steps, s)
			}
		})
	}
}
