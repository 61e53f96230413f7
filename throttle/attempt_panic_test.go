package throttle_test

import (
	"context"
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
	w.tear()
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
