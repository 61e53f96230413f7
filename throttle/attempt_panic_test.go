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

func TestAFunctionThatDoesNotReturn(t *testing.T) {
	for name, exit := range exits {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			leave(t, name, func() {
				_ = th.Do(context.Background(), throttle.High, func(context.Context) error { exit(); return nil }, unwantedFallback(t))
			})
			leave(t, name, func() {
				_, _ = throttle.Do(context.Background(), th, throttle.High, func(context.Context) (int, error) { exit(); return 1, nil })
			})
			w.want(t, "started", "finished", "started", "finished")
			for _, end := range w.finished {
				equal(t, "outcome told", end.Outcome, throttle.Ignored)
				equal(t, "fault told", end.Fault, throttle.FaultPanic)
				equal(t, "error told", end.Err, throttle.ErrPanicked)
			}
			wantAdmitted(t, th, throttle.High, 2, throttle.Ignored, throttle.FaultPanic)
			equal(t, "window", tier(th, throttle.High).Window, throttle.WindowStats{})
			wantUsable(t, th)
		})
	}
}

func TestAFallbackThatDoesNotReturn(t *testing.T) {
	for name, exit := range exits {
		t.Run(name+" after an error", func(t *testing.T) {
			w := &witness{}
			th := build(t, throttle.Config{Hooks: w.hooks()})
			leave(t, name, func() {
				_ = th.Do(context.Background(), throttle.High, returns(errBusy),
					func(context.Context, error, bool) error { exit(); return nil })
			})
			w.want(t, "started", "fell back", "finished")
			equal(t, "error that FellBack is told", w.fellBack[0].Err, throttle.ErrPanicked)
			end := w.finished[0]
			equal(t, "error that Finished is told", end.Err, throttle.ErrPanicked)
			equal(t, "outcome that Finished is told", end.Outcome, throttle.Rejected)
			equal(t, "fault that Finished is told", end.Fault, throttle.FaultAvailability)
			wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultAvailability)
			equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Count(throttle.Rejected, throttle.FaultPanic), 1)
			wantUsable(t, th)
		})
		t.Run(name+" after a shed", func(t *testing.T) {
			w := &witness{}
			th := shedding(t, throttle.Config{Hooks: w.hooks()})
			admitted := tier(th, throttle.High).Ended
			w.forget()
			leave(t, name, func() {
				_, _ = throttle.Do(context.Background(), th, throttle.High, valued(1, nil),
					func(context.Context, error, bool) (int, error) { exit(); return 2, nil })
			})
			w.want(t, "shed", "fell back")
			equal(t, "admitted", tier(th, throttle.High).Ended, admitted)
			equal(t, "fallbacks", tier(th, throttle.High).Fallbacks.Count(throttle.Shed, throttle.FaultPanic), 1)
			wantUsable(t, th)
		})
	}
}

// hostile is an error whose methods panic.
type hostile struct{ exit func() }

func (h hostile) Error() string { return "hostile" }

func (h hostile) Is(error) bool { h.exit(); return false }

func TestAClassifierThatDoesNotReturn(t *testing.T) {
	for name, exit := range exits {
		for what, c := range map[string]struct {
			config throttle.Config
			err    error
		}{
			"Config.Classify": {throttle.Config{Classify: func(context.Context, error) (throttle.Outcome, bool) {
				exit()
				return throttle.Rejected, true
			}}, errPlain},
			"the error's own method": {throttle.Config{}, hostile{exit}},
		} {
			t.Run(what+", "+name, func(t *testing.T) {
				w := &witness{}
				c.config.Hooks = w.hooks()
				th := build(t, c.config)
				leave(t, name, func() { _ = th.Do(context.Background(), throttle.High, returns(c.err), unwantedFallback(t)) })
				leave(t, name, func() {
					call, err := th.Admit(context.Background(), throttle.High)
					equal(t, "Admit", err, nil)
					call.Done(c.err)
				})
				w.want(t, "started", "finished", "started", "finished")
				wantAdmitted(t, th, throttle.High, 2, throttle.Ignored, throttle.FaultPanic)
				wantUsable(t, th)
			})
		}
	}
}

func TestAHookThatDoesNotReturn(t *testing.T) {
	for name, exit := range exits {
		for _, c := range []struct {
			hook  string
			shed  bool // the call meets a throttle that sheds
			told  []string
			want  throttle.Outcome // of the call, unless it was shed
			fault throttle.Fault
		}{
			{"shed", true, []string{"shed"}, throttle.Shed, throttle.FaultNone},
			{"started", false, []string{"started", "finished"}, throttle.Ignored, throttle.FaultPanic},
			{"finished", false, []string{"started", "fell back", "finished"}, throttle.Accepted, throttle.FaultOther},
			{"fell back", false, []string{"started", "fell back", "finished"}, throttle.Accepted, throttle.FaultOther},
			{"fell back", true, []string{"shed", "fell back"}, throttle.Shed, throttle.FaultNone},
		} {
			t.Run(fmt.Sprintf("%s, shed %v, %s", c.hook, c.shed, name), func(t *testing.T) {
				w := &witness{exit: exit}
				th := build(t, throttle.Config{Hooks: w.hooks(), Rand: unlucky})
				if c.shed {
					overload(t, th, throttle.High)
				}
				before := tier(th, throttle.High)
				w.forget()
				w.trips = c.hook
				leave(t, name, func() {
					_ = th.Do(context.Background(), throttle.High, returns(errPlain),
						func(context.Context, error, bool) error { return nil })
				})
				w.trips = ""
				w.want(t, c.told...)
				after := tier(th, throttle.High)
				equal(t, "shed", after.Shed.Count(throttle.CauseOwn), before.Shed.Count(throttle.CauseOwn)+count(c.shed))
				before.Ended.Add(c.want, c.fault, count(!c.shed))
				equal(t, "admitted", after.Ended, before.Ended)
				wantUsable(t, th)
			})
		}
		for hook, p := range map[string]throttle.Priority{"shed": throttle.High, "started": throttle.Low} {
			t.Run(hook+" of Admit, "+name, func(t *testing.T) {
				w := &witness{exit: exit}
				th := shedding(t, throttle.Config{Hooks: w.hooks()})
				w.trips = hook
				leave(t, name, func() { _, _ = th.Admit(context.Background(), p) })
				w.trips = ""
				wantAdmitted(t, th, throttle.Low, count(hook == "started"), throttle.Ignored, throttle.FaultPanic)
				admit(t, th, throttle.Medium).Done(nil)
				wantAdmitted(t, th, throttle.Medium, 1, throttle.Accepted, throttle.FaultNone)
				equal(t, "in flight", inFlight(th), 0)
			})
		}
	}
}

func TestAPanicInDoneLeavesTheCallEnded(t *testing.T) {
	w := &witness{trips: "finished", exit: exits["panic"]}
	th := build(t, throttle.Config{Hooks: w.hooks()})
	call := admit(t, th, throttle.High)
	leave(t, "panic", func() { call.Done(errBusy) })
	call.Done(nil)
	wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultAvailability)
	w.trips = ""
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
