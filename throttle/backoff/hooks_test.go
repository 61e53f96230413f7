package backoff_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var log strings.Builder
		var made *backoff.Responsive
		note := backoff.Hooks{
			Created: func(r *backoff.Responsive) { made = r; fmt.Fprintln(&log, "made") },
			Closed:  func(*backoff.Responsive) { fmt.Fprint(&log, "closed") },
			Stepped: func(e backoff.StepEvent) { fmt.Fprintln(&log, e) },
			Slept: func(ctx context.Context, e backoff.SleepEvent) {
				fmt.Fprintln(&log, ctx.Value(key{}), e)
			},
		}
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", InitialInterval: time.Second, RandomizationFactor: -1, DownMultiplierThreshold: 1, Hooks: backoff.JoinHooks(backoff.Hooks{}, note, backoff.Hooks{}),
		}))
		ctx := context.WithValue(t.Context(), key{}, "me")
		wait(t, r).Finish(backoff.Throttled)
		p, _ := r.Wait(ctx)
		p.Finish(backoff.Success)
		ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		wait(t, r)
		_, _ = r.Wait(ctx)
		_ = r.Close()
		want := "made\nbackoff x: delay up from 0s to 1s\nme backoff x: waited 1s\nbackoff x: delay down from 1s to 0s\nclosed"
		if log.String() != want || made != r {
			t.Errorf("got %q want %q", log.String(), want)
		}
		same := backoff.StepEvent{Responsive: r, From: time.Second, To: time.Second}
		failed := backoff.SleepEvent{Duration: time.Second, Err: backoff.ErrClosed}
		equals(t, fmt.Sprint(same, ", ", failed), "backoff x: delay up from 1s to 1s, backoff : waited 1s: backoff: closed", "String")
	})
}

// TestHookPanics wants that the panic of a hook propagates, and that the next callers still get their turn. One panic is in a call
// that resets an idle delay during a Retry-After.
func TestHookPanics(t *testing.T) {
	eachMode(t, func(t *testing.T, mode backoff.Mode) {
		hot := false
		panics := func(with string) {
			if hot {
				panic(with)
			}
		}
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "x", Mode: mode, InitialInterval: time.Second, MaxInterval: 10 * time.Second, RandomizationFactor: -1, IdleReset: 2 * time.Second,
			Hooks: backoff.Hooks{
				Stepped: func(backoff.StepEvent) { panics("stepped") },
				Slept:   func(context.Context, backoff.SleepEvent) { panics("slept") },
			},
		}))
		wait(t, r).Finish(backoff.Throttled)
		hot = true
		caught(t, "slept", func() { wait(t, r) })
		hot = false
		wait(t, r).Finish(backoff.ThrottledFor(10 * time.Second))
		time.Sleep(3 * time.Second)
		hot = true
		caught(t, "stepped", func() { wait(t, r) })
		hot = false
		p := wait(t, r)
		hot = true
		caught(t, "stepped", func() { p.Finish(backoff.Throttled) })
		hot = false
		equals(t, r.Stats().Waiting, 0, "%v: waiters", mode)
		ctx, cancel := timeout(t, time.Minute)
		defer cancel()
		for range 3 {
			if _, err := r.Wait(ctx); err != nil {
				t.Errorf("%v: the next: got %v want nil", mode, err)
			}
		}
	})
}

// TestHooksMayCallBack wants that hooks, Classify and the function of a call run without a lock.
func TestHooksMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *backoff.Responsive
		var b *backoff.BackOff
		calls := map[string]int{}
		back := func(from string) {
			calls[from]++
			_, _ = r.Stats(), r.Delay()
			b.Reset()
			if len(calls) == 1 && calls[from] == 1 {
				b.NextBackOff()
				b.Succeeded()
			}
		}
		r = backoff.Must(backoff.New(backoff.Config{
			Name: "x", InitialInterval: time.Second,
			Classify: func(error) (backoff.Outcome, bool) { back("Classify"); return backoff.Throttled, true },
			Hooks: backoff.Hooks{
				Stepped: func(backoff.StepEvent) { back("Stepped") },
				Slept:   func(context.Context, backoff.SleepEvent) { back("Slept") },
				Closed:  func(r *backoff.Responsive) { back("Closed"); _ = r.Close() },
			},
		}))
		b = r.BackOff()
		b.NextBackOff()
		for range 2 {
			_ = r.Do(t.Context(), func(context.Context) error { back("f"); return faults.NotFound })
		}
		_ = r.Close()
		if len(calls) != 5 || calls["Stepped"] < 3 {
			t.Errorf("got calls %v want some of all five", calls)
		}
	})
}

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[backoff.Hooks]{
		Join: backoff.JoinHooks, Set: backoff.SetDefaultHooks, Get: backoff.DefaultHooks,
		Create: func(h backoff.Hooks) { _ = backoff.Must(backoff.New(backoff.Config{Name: "x", Hooks: h})).Close() },
	}.Check(t)
}

// TestLogHooks_releaseClosed backoffs, also if one of their calls ends later.
func TestLogHooks_releaseClosed(t *testing.T) {
	var log lines
	hooktest.Collected(t, log.hooks(), func(h backoff.Hooks) *backoff.Responsive {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, MaxInterval: time.Second, Hooks: h}))
		wait(t, r).Finish(backoff.Throttled)
		_ = r.Close()
		r.Reset()
		return r
	})
}
