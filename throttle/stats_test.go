package throttle_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

func TestTotalsAreByOutcomeAndFault(t *testing.T) {
	cases := []struct {
		name    string
		end     error
		outcome throttle.Outcome
		fault   throttle.Fault
	}{
		{"no error", nil, throttle.Accepted, throttle.FaultNone},
		{"unavailable", faults.Unavailable(0), throttle.Rejected, throttle.FaultAvailability},
		{"out of quota", faults.ResourceExhausted(), throttle.Rejected, throttle.FaultQuota},
		{"timeout", context.DeadlineExceeded, throttle.Rejected, throttle.FaultTimeout},
		{"marked as rejected", throttle.RejectedError(faults.NotFound), throttle.Rejected, throttle.FaultMissing},
		{"not found", faults.NotFound, throttle.Accepted, throttle.FaultMissing},
		{"bad request", faults.Bad(), throttle.Accepted, throttle.FaultBad},
		{"anything else", errPlain, throttle.Accepted, throttle.FaultOther},
		{"cancelled", context.Canceled, throttle.Ignored, throttle.FaultCanceled},
		{"shed by another throttle", throttle.ErrShed, throttle.Ignored, throttle.FaultShed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			th := build(t, throttle.Config{})
			times(3, th, throttle.Medium, c.end)
			wantAdmitted(t, th, throttle.Medium, 3, c.outcome, c.fault)
			want := throttle.WindowStats{}
			switch c.outcome {
			case throttle.Accepted:
				want.Accepted = 3
			case throttle.Rejected:
				want.Rejected = 3
			}
			equal(t, "window", tier(th, throttle.Medium).Window, want)
			for _, p := range []throttle.Priority{throttle.High, throttle.Important, throttle.Low} {
				equal(t, p.String(), tier(th, p), throttle.PriorityStats{Priority: p})
			}
		})
	}
}

func TestTotalsOfWhatIsNoOrdinaryEnd(t *testing.T) {
	th := build(t, throttle.Config{})
	_ = survive(func() { _ = th.Do(t.Context(), throttle.High, func(context.Context) error { panic("boom") }) })
	for _, outcome := range []throttle.Outcome{throttle.Accepted, throttle.Rejected, throttle.Ignored} {
		call, err := th.Admit(t.Context(), throttle.High)
		equal(t, "Admit", err, nil)
		call.Finish(outcome)
	}
	var want throttle.Totals
	want[throttle.Ignored][throttle.FaultPanic] = 1
	want[throttle.Accepted][throttle.FaultNone] = 1
	want[throttle.Rejected][throttle.FaultNone] = 1
	want[throttle.Ignored][throttle.FaultNone] = 1
	if got := tier(th, throttle.High).Ended; got != want {
		t.Errorf("admitted: got %s want %s", describe(got), describe(want))
	}
}

func TestShedCallsAreCountedByCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Rand: fate.throw})
		rejectMany(t, th, throttle.High, 300)
		rejectMany(t, th, throttle.Low, 20)
		fate.sheds.Store(true)
		times(5, th, throttle.High, nil)
		times(7, th, throttle.Low, nil)
		times(2, th, throttle.Medium, nil) // which the backend has not rejected
		equal(t, "high", tier(th, throttle.High).Shed, throttle.CauseTotals{throttle.Own: 5})
		equal(t, "low", tier(th, throttle.Low).Shed, throttle.CauseTotals{throttle.Above: 7})
		equal(t, "medium", tier(th, throttle.Medium).Shed, throttle.CauseTotals{})
		wantAdmitted(t, th, throttle.Low, 20, throttle.Rejected, throttle.FaultAvailability)

		low := tier(th, throttle.Low)
		equal(t, "low's window", low.Window, throttle.WindowStats{Rejected: 20, Shed: 7})
		equal(t, "low's cause", low.Cause, throttle.Above)
		equal(t, "low's probability", low.Probability, th.RejectionProbability(throttle.Low))
		high := tier(th, throttle.High)
		equal(t, "high's window", high.Window, throttle.WindowStats{Rejected: 300, Shed: 5})
		equal(t, "high's requests in the window", high.Window.Requests(), 305)
		equal(t, "high's cause", high.Cause, throttle.Own)
		equal(t, "high's probability", near(high.Probability, 305.0/365), true)
	})
}

// TestTheCauseOfAShedOutlivesThePrioritysOwnRejections: Low sheds for what it has shed, while the window holds rejections of High alone.
func TestTheCauseOfAShedOutlivesThePrioritysOwnRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		var causes []throttle.Cause
		th := build(t, throttle.Config{Rand: fate.throw, Hooks: throttle.Hooks{
			Shed: func(_ context.Context, e throttle.ShedEvent) { causes = append(causes, e.Cause) },
		}})
		rejectMany(t, th, throttle.Low, 60)
		time.Sleep(40 * time.Second)
		rejectMany(t, th, throttle.High, 300)
		fate.sheds.Store(true)
		times(100, th, throttle.Low, nil)
		time.Sleep(30 * time.Second)
		causes = nil
		times(1, th, throttle.Low, nil)
		low := tier(th, throttle.Low)
		equal(t, "low's window", low.Window, throttle.WindowStats{Shed: 101})
		equal(t, "low's cause", low.Cause, throttle.Above)
		if want := []throttle.Cause{throttle.Above}; !slices.Equal(causes, want) {
			t.Errorf("causes told: got %v want %v", causes, want)
		}
	})
}

func TestFallbacksAreCountedByTheCallsOutcomeAndTheirOwnFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fate die
		th := build(t, throttle.Config{Rand: fate.throw})
		fall := func(end, fallback error) {
			_ = th.Do(t.Context(), throttle.High, returns(end), func(context.Context, error, bool) error { return fallback })
		}
		rejectMany(t, th, throttle.High, 60)
		fall(nil, errBusy)                             // has nothing to do
		fall(errPlain, nil)                            // accepted
		fall(errBusy, throttle.RejectedError(errBusy)) // rejected
		fall(context.Canceled, faults.NotFound)        // ignored
		_ = survive(func() {
			_ = th.Do(t.Context(), throttle.High, returns(errBusy), func(context.Context, error, bool) error { panic("boom") })
		})
		fate.sheds.Store(true)
		fall(nil, nil)                      // shed
		fall(nil, context.DeadlineExceeded) // shed
		times(3, th, throttle.High, nil)    // shed, without a fallback
		var want throttle.Totals
		want[throttle.Accepted][throttle.FaultNone] = 1
		want[throttle.Rejected][throttle.FaultAvailability] = 1
		want[throttle.Rejected][throttle.FaultPanic] = 1
		want[throttle.Ignored][throttle.FaultMissing] = 1
		want[throttle.Shed][throttle.FaultNone] = 1
		want[throttle.Shed][throttle.FaultTimeout] = 1
		if got := tier(th, throttle.High).Fallbacks; got != want {
			t.Errorf("fallbacks: got %s want %s", describe(got), describe(want))
		}
		equal(t, "shed", tier(th, throttle.High).Shed[throttle.Own], 5)
	})
}

func TestPrioritiesOutOfRangeAreCountedWhereTheyEndUp(t *testing.T) {
	th := build(t, throttle.Config{Priorities: 3})
	for _, p := range []throttle.Priority{3, 127, -1, -128, 2, 0} {
		_ = th.Do(t.Context(), p, succeed)
	}
	equal(t, "lowest clamped", tier(th, 2).Clamped, 4)
	equal(t, "highest clamped", tier(th, 0).Clamped, 0)
	wantAdmitted(t, th, 2, 5, throttle.Accepted, throttle.FaultNone)
	wantAdmitted(t, th, 0, 1, throttle.Accepted, throttle.FaultNone)

	promoter := build(t, throttle.Config{InvalidPriority: func(throttle.Priority, int) (throttle.Priority, error) { return throttle.High, nil }})
	_ = promoter.Do(t.Context(), 99, succeed)
	equal(t, "clamped to the highest, as told", tier(promoter, throttle.High).Clamped, 1)

	refuser := build(t, throttle.Config{InvalidPriority: throttle.RejectPriority})
	_ = refuser.Do(t.Context(), 99, succeed)
	for p := throttle.High; p <= throttle.Low; p++ {
		equal(t, "nothing of a refused priority", tier(refuser, p), throttle.PriorityStats{Priority: p})
	}
}

func TestCallsInFlightAreSeen(t *testing.T) {
	for _, mode := range []throttle.Mode{throttle.Enforce, throttle.Shadow, throttle.Off} {
		t.Run(mode.String(), func(t *testing.T) {
			th := build(t, throttle.Config{Mode: mode, Rand: unlucky})
			times(20, th, throttle.High, errBusy) // so that Shadow would shed the next ones
			var calls []throttle.Call
			for n := range int64(3) {
				equal(t, "in flight", tier(th, throttle.Low).InFlight, n)
				call, err := th.Admit(t.Context(), throttle.Low)
				equal(t, "Admit", err, nil)
				calls = append(calls, call)
			}
			_ = th.Do(t.Context(), throttle.Low, func(context.Context) error {
				equal(t, "in flight in a function", tier(th, throttle.Low).InFlight, 4)
				return errPlain
			}, func(context.Context, error, bool) error {
				equal(t, "in flight in a fallback, when the call has ended", tier(th, throttle.Low).InFlight, 3)
				return nil
			})
			equal(t, "in flight of another priority", tier(th, throttle.High).InFlight, 0)
			for i, call := range calls {
				call.Done(errBusy)
				call.Done(errBusy)
				equal(t, "in flight after Done", tier(th, throttle.Low).InFlight, int64(2-i))
			}
		})
	}
}

// TestTheWindowForgetsAndTheTotalsDoNot.
func TestTheWindowForgetsAndTheTotalsDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Window: 12 * time.Second})
		times(10, th, throttle.High, nil)
		time.Sleep(6 * time.Second)
		times(4, th, throttle.High, errPlain)
		equal(t, "window, all of it", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 14})
		time.Sleep(6*time.Second + time.Second/10)
		equal(t, "window, the later half", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 4})
		time.Sleep(12 * time.Second)
		equal(t, "window, later", tier(th, throttle.High).Window, throttle.WindowStats{})
		equal(t, "total", tier(th, throttle.High).Ended.Sum(), 14)
	})
}

func TestStatsRepeatTheSettings(t *testing.T) {
	th := build(t, throttle.Config{Name: "orders", Priorities: 2, Ratio: 1.5, MinimumRate: 3, Window: 30 * time.Second, Mode: throttle.Shadow})
	got := th.Stats()
	equal(t, "Name", got.Name, "orders")
	equal(t, "Policy", got.Policy, throttle.SRE)
	equal(t, "Mode", got.Mode, throttle.Shadow)
	equal(t, "Ratio", got.Ratio, 1.5)
	equal(t, "MinimumRate", got.MinimumRate, 3)
	equal(t, "Window", got.Window, 30*time.Second)
	equal(t, "priorities", len(got.Priorities), 2)
	for p, ps := range got.Priorities {
		equal(t, "Priority", ps.Priority, throttle.Priority(p))
	}
	_ = th.Tune(func(u *throttle.Tuning) { u.Mode, u.Ratio, u.MinimumRate = throttle.Off, 4, 5 })
	got = th.Stats()
	equal(t, "Mode, tuned", got.Mode, throttle.Off)
	equal(t, "Ratio, tuned", got.Ratio, 4)
	equal(t, "MinimumRate, tuned", got.MinimumRate, 5)
}

func TestStatsAreWordsAsJSON(t *testing.T) {
	th := build(t, throttle.Config{Priorities: 6, Mode: throttle.Shadow, Policy: throttle.Tiered})
	text, err := json.Marshal(th.Stats())
	equal(t, "error", err, nil)
	for _, want := range []string{`"Policy":"tiered"`, `"Mode":"shadow"`, `"Priority":"high"`, `"Priority":"p5"`, `"Cause":"own"`} {
		equal(t, want+" in "+string(text), strings.Contains(string(text), want), true)
	}
	var got throttle.Stats
	equal(t, "error of reading it", json.Unmarshal(text, &got), nil)
	equal(t, "what is read is what was written", reflect.DeepEqual(got, th.Stats()), true)
}

func TestStatsOfNoThrottle(t *testing.T) {
	for name, th := range map[string]*throttle.Throttle{"nil": nil, "zero": new(throttle.Throttle)} {
		got := th.Stats()
		equal(t, name+": Name", got.Name, "")
		equal(t, name+": priorities", len(got.Priorities), 0)
		equal(t, name+": probability", th.RejectionProbability(throttle.High), 0)
	}
}

func TestTotalsAddUp(t *testing.T) {
	var totals throttle.Totals
	equal(t, "sum of nothing", totals.Sum(), 0)
	for o := range totals {
		for f := range totals[o] {
			totals[o][f] = uint64(1 << (2 * o))
		}
	}
	for o, want := range []uint64{1 * throttle.NumFaults, 4 * throttle.NumFaults, 16 * throttle.NumFaults, 64 * throttle.NumFaults} {
		equal(t, throttle.Outcome(o).String(), totals.Outcome(throttle.Outcome(o)), want)
	}
	equal(t, "Sum", totals.Sum(), 85*throttle.NumFaults)
	totals[throttle.Rejected][throttle.FaultQuota]++
	equal(t, "quota", totals.Fault(throttle.FaultQuota), 86)
	equal(t, "timeout", totals.Fault(throttle.FaultTimeout), 85)
	equal(t, "causes", throttle.CauseTotals{throttle.Own: 1, throttle.Above: 20}.Sum(), 21)
	equal(t, "shadow", throttle.ShadowTotals{throttle.Own: totals, throttle.Above: totals}.Sum(), 2*(85*throttle.NumFaults+1))
	equal(t, "requests", throttle.WindowStats{Accepted: 1, Rejected: 20, Shed: 300}.Requests(), 321)
}
