package throttle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// hostile is an error whose methods panic.
type hostile struct{ exit func() }

func (h hostile) Error() string { return "hostile" }

func (h hostile) Is(error) bool { h.exit(); return false }

// foreign is code of the user that a call runs and that does not return.
type foreign struct {
	hook     string // that exits, if not empty
	shed     bool   // the call meets a throttle that sheds
	classify throttle.Classifier
	fn       func(context.Context) error
	fallback throttle.Fallback
	told     []string
	outcome  throttle.Outcome // of an admitted call
	fault    throttle.Fault
}

func foreignCode(t *testing.T, exit func()) map[string]foreign {
	ends := func(context.Context) error { exit(); return nil }
	falls := func(context.Context, error, bool) error { exit(); return nil }
	serves := func(context.Context, error, bool) error { return nil }
	classify := func(context.Context, error) (throttle.Outcome, bool) { exit(); return throttle.Rejected, true }
	finished, fellBack := []string{"started", "finished"}, []string{"started", "fell back", "finished"}
	ignored, accepted := throttle.Ignored, throttle.Accepted
	broken, other, busy := throttle.FaultPanic, throttle.FaultOther, throttle.FaultAvailability
	plain, unwanted := returns(errPlain), unwantedFallback(t)
	return map[string]foreign{
		"function":           {"", false, nil, ends, unwanted, finished, ignored, broken},
		"fallback":           {"", false, nil, returns(errBusy), falls, fellBack, throttle.Rejected, busy},
		"fallback of a shed": {"", true, nil, plain, falls, []string{"shed", "fell back"}, throttle.Shed, 0},
		"classifier":         {"", false, classify, plain, unwanted, finished, ignored, broken},
		"error's own method": {"", false, nil, returns(hostile{exit}), unwanted, finished, ignored, broken},
		"Shed":               {"shed", true, nil, plain, unwanted, []string{"shed"}, throttle.Shed, 0},
		"Started":            {"started", false, nil, plain, unwanted, finished, ignored, broken},
		"Finished":           {"finished", false, nil, plain, serves, fellBack, accepted, other},
		"FellBack":           {"fell back", false, nil, plain, serves, fellBack, accepted, other},
		"FellBack of a shed": {"fell back", true, nil, plain, serves, []string{"shed", "fell back"}, throttle.Shed, 0},
	}
}

// TestForeignCodeThatDoesNotReturn ends the call, with the hooks and the counts of its outcome, and goes on up.
func TestForeignCodeThatDoesNotReturn(t *testing.T) {
	for name, exit := range exits {
		for where, c := range foreignCode(t, exit) {
			for form, do := range map[string]func(*throttle.Throttle){
				"Do": func(th *throttle.Throttle) { _ = th.Do(context.Background(), throttle.High, c.fn, c.fallback) },
				"Do[T]": func(th *throttle.Throttle) {
					_, _ = throttle.Do(context.Background(), th, throttle.High,
						func(ctx context.Context) (int, error) { return 1, c.fn(ctx) },
						func(ctx context.Context, err error, local bool) (int, error) { return 2, c.fallback(ctx, err, local) })
				},
			} {
				t.Run(name+" of "+where+", "+form, func(t *testing.T) { c.play(t, name, exit, do) })
			}
		}
	}
}

func (c *foreign) play(t *testing.T, name string, exit func(), do func(*throttle.Throttle)) {
	w := &witness{exit: exit}
	th := build(t, throttle.Config{Hooks: w.hooks(), Rand: unlucky, Classify: c.classify})
	if c.shed {
		overload(t, th, throttle.High)
	}
	want := tier(th, throttle.High)
	w.forget()
	w.trips = c.hook
	leave(t, name, func() { do(th) })
	w.trips = ""
	w.want(t, c.told...)
	if c.hook == "" {
		for _, e := range w.fellBack {
			equal(t, "error that FellBack receives", e.Err, throttle.ErrPanicked)
			equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Count(c.outcome, throttle.FaultPanic), 1)
		}
		for _, e := range w.finished {
			equal(t, "error that Finished receives", e.Err, throttle.ErrPanicked)
			equal(t, "outcome that Finished receives", e.Outcome, c.outcome)
			equal(t, "fault that Finished receives", e.Fault, c.fault)
		}
	}
	got := tier(th, throttle.High)
	want.Ended.Add(c.outcome, c.fault, count(!c.shed))
	equal(t, "admitted", got.Ended, want.Ended)
	equal(t, "shed", got.Shed.Count(throttle.CauseOwn), want.Shed.Count(throttle.CauseOwn)+count(c.shed))
	wantUsable(t, th)
}

func TestAPanicOverAPriorityCountsNothing(t *testing.T) {
	th := build(t, throttle.Config{InvalidPriority: func(throttle.Priority, int) (throttle.Priority, error) { panic("boom") }})
	leave(t, "panic", func() { _ = th.Do(context.Background(), 7, unwanted(t), unwantedFallback(t)) })
	leave(t, "panic", func() { _, _ = th.Admit(context.Background(), -7) })
	for _, p := range th.Stats().Priorities {
		equal(t, "admitted and clamped", p.Ended.Sum()+p.Clamped, 0)
	}
	wantUsable(t, th)
}

func TestAPanicInClosedHappensOnce(t *testing.T) {
	th := build(t, throttle.Config{Hooks: throttle.Hooks{Closed: func(*throttle.Throttle) { panic("boom") }}})
	leave(t, "panic", func() { _ = th.Close() })
	equal(t, "the second Close", th.Close(), nil)
	wantUsable(t, th)
}

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

// callLog counts what the hooks receive of one call. It travels in the call's context.
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
// random: Finished comes once for each Started, no call stays in flight, and each is in the totals once.
func TestEveryStartHasOneFinish(t *testing.T) {
	for _, mode := range []throttle.Mode{throttle.ModeEnforce, throttle.ModeShadow, throttle.ModeOff} {
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
			if mode == throttle.ModeEnforce {
				equal(t, "calls shed", shed, uint64(sum.shed))
			}
			if mode != throttle.ModeOff && sum.shed == 0 {
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
