package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// wreck is a source of accidents: each place where a call runs foreign code asks it, and may panic or leave its goroutine.
type wreck struct {
	mu   sync.Mutex
	dice *rand.Rand
	odds float64
}

func (w *wreck) roll() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.Float64()
}

func (w *wreck) maybe() {
	switch r := w.roll(); {
	case r < w.odds/2:
		panic("an accident")
	case r < w.odds:
		runtime.Goexit()
	}
}

// callLog counts what the hooks are told of one call. It travels in the call's context.
type callLog struct{ shed, started, fellBack, finished int }

type callLogKey struct{}

func logOf(ctx context.Context) *callLog { return ctx.Value(callLogKey{}).(*callLog) }

// accidentProne returns hooks that count and then have their accident.
func accidentProne(w *wreck) throttle.Hooks {
	return throttle.Hooks{
		Shed: func(ctx context.Context, _ throttle.ShedEvent) { logOf(ctx).shed++; w.maybe() },
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			logOf(ctx).started++
			w.maybe()
			return ctx
		},
		Finished: func(ctx context.Context, _ throttle.FinishEvent) { logOf(ctx).finished++; w.maybe() },
		FellBack: func(ctx context.Context, e throttle.FallbackEvent) {
			logOf(ctx).fellBack++
			if !errors.Is(e.Err, throttle.ErrPanicked) { // one accident per call
				w.maybe()
			}
		},
	}
}

// TestEveryStartHasOneFinish lets everything that a call runs, hooks and classifier included, panic or leave its goroutine at
// random: Finished is told once for each Started, no call stays in flight, and each is in the totals once.
func TestEveryStartHasOneFinish(t *testing.T) {
	for _, mode := range []throttle.Mode{throttle.Enforce, throttle.Shadow, throttle.Off} {
		t.Run(mode.String(), func(t *testing.T) {
			w := &wreck{dice: rand.New(rand.NewPCG(1, 2)), odds: 0.2}
			th := build(t, throttle.Config{
				Mode: mode, Hooks: accidentProne(w), Rand: w.roll,
				Classify: func(context.Context, error) (throttle.Outcome, bool) { w.maybe(); return 0, false },
			})
			var sum callLog
			for i := range 2000 {
				log := accident(t, th, w, i%3)
				if log.finished != log.started || log.started > 1 || log.shed > 1 || log.fellBack > 1 {
					t.Fatalf("call %d: told %+v, want at most one of each, and as many finished as started", i, log)
				}
				sum.started += log.started
				sum.shed += log.shed
			}
			var ended, shed uint64
			for _, p := range th.Stats().Priorities {
				ended += p.Ended.Sum() + p.ShadowShed.Sum()
				shed += p.Shed.Sum()
			}
			equal(t, "calls in flight", inFlight(th), 0)
			equal(t, "calls that ended", ended, uint64(sum.started))
			if mode == throttle.Enforce {
				equal(t, "calls shed", shed, uint64(sum.shed))
			}
			if mode != throttle.Off && sum.shed == 0 {
				t.Error("calls shed: got 0, want some, or nothing has been tested")
			}
		})
	}
}

// accident makes one call on a goroutine of its own, which may not come back from it, and returns what the hooks were told.
func accident(t *testing.T, th *throttle.Throttle, w *wreck, form int) callLog {
	var log callLog
	ctx := context.WithValue(t.Context(), callLogKey{}, &log)
	ends := []error{nil, errPlain, errBusy, errBusy, errBusy}
	end := ends[int(w.roll()*float64(len(ends)))]
	elsewhere(func() {
		defer func() {
			if r := recover(); r != nil && r != "an accident" {
				t.Errorf("got panic %v, want the accident's", r)
			}
		}()
		switch form {
		case 0:
			_ = th.Do(ctx, throttle.High,
				func(context.Context) error { w.maybe(); return end },
				func(context.Context, error, bool) error { w.maybe(); return nil })
		case 1:
			_, _ = throttle.Do(ctx, th, throttle.High,
				func(context.Context) (int, error) { w.maybe(); return 0, end },
				func(context.Context, error, bool) (int, error) { w.maybe(); return 1, nil })
		case 2:
			if call, err := th.Admit(ctx, throttle.High); err == nil {
				call.Done(end)
			}
		}
	})
	return log
}

// TestErrPanickedStandsForWhatDidNotReturn shows what Finished is told of a call that never returned.
func TestErrPanickedStandsForWhatDidNotReturn(t *testing.T) {
	var d diary
	th := build(t, throttle.Config{Hooks: d.hooks(), Now: watchFrom(newYear(2026)).now})
	d.tear()
	panicked := survive(func() {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { panic("boom") })
	})
	equal(t, "the panic that goes on up", panicked, any("boom"))
	elsewhere(func() {
		_ = th.Do(t.Context(), throttle.Low, returns(errBusy), func(context.Context, error, bool) error { runtime.Goexit(); return nil })
	})
	want := fmt.Sprint([]string{
		"started low at 0.00", "finished low ignored panic after 0s: throttle: function panicked",
		"started low at 0.00", "fell back low rejected: throttle: function panicked",
		"finished low rejected availability after 0s: throttle: function panicked, fell back",
	})
	equal(t, "told", fmt.Sprint(d.tear()), want)
}

func TestFinishedIsToldAfterTwoAccidents(t *testing.T) {
	finished := 0
	th := build(t, throttle.Config{Hooks: throttle.Hooks{
		FellBack: func(context.Context, throttle.FallbackEvent) { panic("hook") },
		Finished: func(context.Context, throttle.FinishEvent) { finished++ },
	}})
	_ = survive(func() {
		_ = th.Do(t.Context(), throttle.High, returns(errBusy), func(context.Context, error, bool) error { panic("fallback") })
	})
	equal(t, "finished", finished, 1)
}
