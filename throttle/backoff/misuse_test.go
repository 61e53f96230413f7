package backoff_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// waits are the ways to wait, by name.
func waits(r *backoff.Responsive) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Wait":           func(ctx context.Context) error { _, err := r.Wait(ctx); return err },
		"SleepOnFailure": r.SleepOnFailure,
		"SleepOnSuccess": r.SleepOnSuccess,
		"Do": func(ctx context.Context) error {
			return r.Do(ctx, func(ctx context.Context) error { return ctx.Err() })
		},
		"Do of a value": func(ctx context.Context) error {
			_, err := backoff.Do(ctx, r, nil, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
			return err
		},
	}
}

// TestANilContextIsTheBackground also for what a function gets.
func TestANilContextIsTheBackground(t *testing.T) {
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

// TestResponsivesThatNobodyMade answer with an error, also one that is there but did not come from New.
func TestResponsivesThatNobodyMade(t *testing.T) {
	for name, r := range map[string]*backoff.Responsive{"nil": nil, "zero": {}} {
		for way, wait := range waits(r) {
			if err := wait(t.Context()); err == nil || !strings.Contains(err.Error(), "nil or zero Responsive") {
				t.Errorf("%s: %s: got %v want an error that says so", name, way, err)
			}
		}
		r.Reset()
		b := r.BackOff()
		b.Succeeded()
		if d := b.NextBackOff(); d != 0 || r.Name() != "" || r.Delay() != 0 || r.Close() != nil || r.Stats() != (backoff.Stats{}) || r.GetMetrics() != (backoff.Metrics{}) {
			t.Errorf("%s: got %v, %q, %v, %+v want nothing", name, d, r.Name(), r.Delay(), r.Stats())
		}
	}
	new(backoff.BackOff).Reset()
}

// TestDoWithoutAFunction waits for nothing.
func TestDoWithoutAFunction(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	_, err := backoff.Do[int](t.Context(), r, nil, nil)
	if other := r.Do(t.Context(), nil); err == nil || other == nil || r.Stats().Ignored != 0 {
		t.Errorf("got %v, %v and %+v want two errors, and no call", err, other, r.Stats())
	}
}

// TestClosedSaysNothingOfTheService to a throttle around, or another backoff.
func TestClosedSaysNothingOfTheService(t *testing.T) {
	r := backoff.Must(backoff.New(backoff.Config{Name: "x"}))
	_ = r.Close()
	err := r.Do(t.Context(), func(context.Context) error { t.Error("called"); return nil })
	if !errors.Is(err, backoff.ErrClosed) || !errors.Is(err, throttle.ErrShed) || throttle.DefaultClassify(t.Context(), err) != throttle.Ignored ||
		throttle.FaultOf(err) != throttle.FaultShed || backoff.Classify(err) != backoff.Ignored {
		t.Errorf("got %v, %v, %v", err, throttle.DefaultClassify(t.Context(), err), backoff.Classify(err))
	}
}

// TestDoTheMethod tells what became of calls, as Config.Classify says: of nil too.
func TestDoTheMethod(t *testing.T) {
	bad := errors.New("bad")
	r := backoff.Must(backoff.New(backoff.Config{Name: "x", Classify: func(err error) backoff.Outcome {
		if err == nil {
			return backoff.Throttled
		}
		return backoff.Classify(err)
	}}))
	for _, want := range []error{nil, bad, context.Canceled} {
		if err := r.Do(t.Context(), func(context.Context) error { return want }); err != want { //nolint:errorlint // it is handed on as it is
			t.Errorf("got %v want %v", err, want)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_ = r.Do(t.Context(), func(context.Context) error { panic("f") })
	}()
	if s := r.Stats(); s.Throttled != 1 || s.Successes != 1 || s.Ignored != 2 {
		t.Errorf("got %+v want one each, and the panic ignored", s)
	}
}

// TestAPanicGoesUpToWhoeverCalled with the books in order: nobody waits any more, and the next in line are let through.
func TestAPanicGoesUpToWhoeverCalled(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		synctest.Test(t, func(t *testing.T) {
			hot := false
			r := backoff.Must(backoff.New(backoff.Config{
				Name: "x", Mode: mode, InitialInterval: time.Second, MaxInterval: time.Second, RandomizationFactor: -1, IdleReset: time.Minute,
				Hooks: backoff.Hooks{
					Stepped: func(backoff.StepEvent) {
						if hot {
							panic("stepped")
						}
					},
					Slept: func(context.Context, backoff.SleepEvent) {
						if hot {
							panic("slept")
						}
					},
				},
			}))
			wait(t, r).Done(backoff.Throttled)
			hot = true
			caught(t, "slept", func() { wait(t, r) })
			hot = false
			wait(t, r).Done(backoff.ThrottledFor(time.Second)) // until then nobody is let through, also when the delay is forgotten
			time.Sleep(59500 * time.Millisecond)
			wait(t, r).Done(backoff.ThrottledFor(time.Second))
			hot = true
			time.Sleep(time.Minute)
			caught(t, "stepped", func() { wait(t, r) }) // it finds the delay forgotten
			caught(t, "stepped", func() { p, _ := r.Wait(t.Context()); p.Done(backoff.Throttled) })
			hot = false
			if s := r.Stats(); s.Waiting != 0 {
				t.Errorf("%v: got %+v want nobody waiting", mode, s)
			}
			ctx, cancel := timeout(t, time.Minute)
			defer cancel()
			for range 3 {
				if _, err := r.Wait(ctx); err != nil {
					t.Errorf("%v: the next: got %v want nil", mode, err)
				}
			}
		})
	}
}

// caught wants a panic.
func caught(t *testing.T, want string, something func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panicked with %v want %v", got, want)
		}
	}()
	something()
}

// TestAPanicLeavesNoPlaceInLine of one who finds the delay forgotten while the service wants no call, who would have had to wait.
func TestAPanicLeavesNoPlaceInLine(t *testing.T) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		synctest.Test(t, func(t *testing.T) {
			hot := false
			r := backoff.Must(backoff.New(backoff.Config{
				Name: "x", Mode: mode, InitialInterval: time.Second, MaxInterval: 10 * time.Second, RandomizationFactor: -1, IdleReset: time.Second,
				Hooks: backoff.Hooks{Stepped: func(backoff.StepEvent) {
					if hot {
						panic("stepped")
					}
				}},
			}))
			wait(t, r).Done(backoff.ThrottledFor(10 * time.Second))
			time.Sleep(2 * time.Second)
			hot = true
			caught(t, "stepped", func() { wait(t, r) })
			hot = false
			if s := r.Stats(); s.Waiting != 0 {
				t.Errorf("%v: got %+v want nobody waiting", mode, s)
			}
			ctx, cancel := timeout(t, time.Minute)
			defer cancel()
			if _, err := r.Wait(ctx); err != nil {
				t.Errorf("%v: the next: got %v want nil", mode, err)
			}
		})
	}
}

// TestHooksMayCallBack everything, from wherever they are told.
func TestHooksMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *backoff.Responsive
		var b *backoff.BackOff
		told := 0
		back := func() {
			told++
			_, _, _ = r.Stats(), r.Delay(), r.GetMetrics()
			b.Reset()
			if told == 1 {
				b.NextBackOff()
				b.Succeeded()
			}
		}
		r = backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, Hooks: backoff.Hooks{
			Stepped: func(backoff.StepEvent) { back() },
			Slept:   func(context.Context, backoff.SleepEvent) { back() },
			Closed:  func(r *backoff.Responsive) { back(); _ = r.Close() },
		}}))
		b = r.BackOff()
		b.NextBackOff()
		wait(t, r).Done(backoff.Throttled)
		wait(t, r).Done(backoff.Throttled)
		_ = r.Close()
		if told < 5 {
			t.Errorf("told %d times", told)
		}
	})
}
