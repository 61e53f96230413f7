package throttle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// admitMany makes n calls of priority p that stay open.
func admitMany(t *testing.T, th *throttle.Throttle, p throttle.Priority, n int) (calls []throttle.Call) {
	t.Helper()
	for range n {
		call, err := th.Admit(t.Context(), p)
		equal(t, "Admit", err, nil)
		calls = append(calls, call)
	}
	return calls
}

func endAll(calls []throttle.Call) {
	for _, call := range calls {
		call.Done(nil)
	}
}

func TestLateCallsAreBookedAsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Slow: time.Second, SlowGate: throttle.ModeOff})
		calls := admitMany(t, th, throttle.Low, 6)
		time.Sleep(time.Second)
		equal(t, "late after Slow", tier(th, throttle.Low).Slow, throttle.SlowTotals{})
		time.Sleep(time.Second / 4)
		low := tier(th, throttle.Low)
		equal(t, "late", low.Slow, throttle.SlowTotals{Late: 6, Booked: 2})
		equal(t, "window", low.Window, throttle.WindowStats{Rejected: 2})
		equal(t, "ended", low.Ended, throttle.Totals{})
		equal(t, "state", th.Stats().Slow, throttle.SlowStats{Slow: time.Second, Gate: throttle.ModeOff, Open: 6, Oldest: 1250 * time.Millisecond})

		for i, call := range calls {
			call.Done([]error{nil, nil, nil, errBusy, errBusy, errBusy}[i])
		}
		low = tier(th, throttle.Low)
		equal(t, "window after the ends: one rejection was booked before", low.Window, throttle.WindowStats{Accepted: 3, Rejected: 4})
		equal(t, "overloaded: those that were booked", low.Overloaded, 2)
		equal(t, "ended", low.Ended.Sum(), 6)
		equal(t, "open", th.Stats().Slow.Open, 0)
	})
}

func TestCallsThatNeverEndAreWrittenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Slow: 100 * time.Millisecond})
		calls := admitMany(t, th, throttle.High, 3)
		time.Sleep(time.Second)
		equal(t, "open", th.Stats().Slow.Open, 3)
		time.Sleep(10 * time.Second)
		s := th.Stats().Slow
		equal(t, "written off", s.WrittenOff, 3)
		equal(t, "open", s.Open, 0)
		equal(t, "oldest", s.Oldest, 11*time.Second)
		equal(t, "totals", tier(th, throttle.High).Slow, throttle.SlowTotals{Late: 3, Booked: 3, WrittenOff: 3})
		calls[0].Done(nil)
		calls[1].Done(errBusy)
		calls[2].Finish(throttle.Ignored)
		equal(t, "written off after the ends", th.Stats().Slow.WrittenOff, 0)
		equal(t, "in flight", inFlight(th), 0)
		equal(t, "accepted", tier(th, throttle.High).Window.Accepted, 1)
	})
}

// TestRespondingCallsAreNotLate: the outcome of a call counts at its end, and Slow counts until its response begins. A stream
// or an upgraded connection is answered then.
func TestRespondingCallsAreNotLate(t *testing.T) {
	late := throttle.SlowTotals{Late: 3, Booked: 1}
	accept, reject := func(c throttle.Call) { c.Done(nil) }, func(c throttle.Call) { c.Done(errBusy) }
	responding, answered := throttle.Call.Responding, func(c throttle.Call) { c.Answered(nil) }
	for name, c := range map[string]struct {
		wait         time.Duration // until the response begins
		begins       func(throttle.Call)
		end          func(throttle.Call)
		slow         throttle.SlowTotals
		window       throttle.WindowStats
		wantInFlight int64
	}{
		"quick, accepted":    {0, responding, accept, throttle.SlowTotals{}, throttle.WindowStats{Accepted: 3}, 0},
		"quick, rejected":    {0, responding, reject, throttle.SlowTotals{}, throttle.WindowStats{Rejected: 3}, 0},
		"answered, rejected": {0, answered, reject, throttle.SlowTotals{}, throttle.WindowStats{Accepted: 3}, 0},
		"quick, answered":    {0, responding, answered, throttle.SlowTotals{}, throttle.WindowStats{Accepted: 3}, 3},
		"quick, finished":    {0, responding, func(c throttle.Call) { c.Finish(throttle.Ignored) }, throttle.SlowTotals{}, throttle.WindowStats{}, 0},
		"late, accepted":     {time.Second, responding, accept, late, throttle.WindowStats{Accepted: 3, Rejected: 1}, 0},
		"late, rejected":     {time.Second, responding, reject, late, throttle.WindowStats{Rejected: 3}, 0}, // one was booked before
	} {
		t.Run(name, bubble(func(t *testing.T) {
			th := build(t, throttle.Config{Slow: 100 * time.Millisecond, SlowGate: throttle.ModeOff, SlowAuto: true, Rand: lucky})
			calls := admitMany(t, th, throttle.Low, 3)
			time.Sleep(c.wait)
			for _, call := range calls {
				c.begins(call)
			}
			equal(t, "open", th.Stats().Slow.Open, 0)
			equal(t, "in flight", inFlight(th), 3)
			time.Sleep(5 * time.Second)
			for _, call := range calls {
				c.end(call)
				call.Responding() // too late
			}
			low := tier(th, throttle.Low)
			equal(t, "slow", low.Slow, c.slow)
			equal(t, "window", low.Window, c.window)
			equal(t, "in flight at the end", inFlight(th), c.wantInFlight)
			endAll(calls)
			wantUsable(t, th)
		}))
	}
}

func TestResponding_panic(t *testing.T) {
	var broken atomic.Bool
	th := build(t, throttle.Config{Slow: time.Hour, Now: func() time.Time {
		if broken.Load() {
			panic("clock")
		}
		return time.Now()
	}})
	call := admitMany(t, th, throttle.Low, 1)[0]
	broken.Store(true)
	equal(t, "panic", survive(call.Responding), any("clock"))
	broken.Store(false)
	call.Done(nil)
	equal(t, "in flight", inFlight(th), 0)
}

// hangMany makes 20 calls of Low that become late, beside 10 that the backend accepts at once, and none of which is shed.
func hangMany(t *testing.T, th *throttle.Throttle) []throttle.Call {
	t.Helper()
	calls := admitMany(t, th, throttle.Low, 20)
	times(10, th, throttle.Low, nil)
	time.Sleep(1200 * time.Millisecond)
	return calls
}

func TestTheGateShedsLowerPrioritiesWhileCallsAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []throttle.Cause
		th := build(t, throttle.Config{Slow: time.Second, Rand: lucky, Hooks: throttle.Hooks{
			Shed: func(_ context.Context, e throttle.ShedEvent) { causes = append(causes, e.Cause) },
		}})
		calls := hangMany(t, th)
		err := th.Do(t.Context(), throttle.Low, unwanted(t))
		var shed *throttle.ShedError
		if !errors.As(err, &shed) || shed.Cause != throttle.CauseLimit || !strings.Contains(err.Error(), "too many are open") {
			t.Errorf("got %v, want a ShedError with CauseLimit", err)
		}
		equal(t, "causes in the hook", len(causes), 1)
		equal(t, "cause in the hook", causes[0], throttle.CauseLimit)
		low := tier(th, throttle.Low)
		equal(t, "shed", low.Shed, shedBy(throttle.CauseLimit, 1))
		equal(t, "window: booked and refused calls are rejected", low.Window, throttle.WindowStats{Accepted: 10, Rejected: 7})
		equal(t, "overloaded: all of them", low.Overloaded, 7)
		equal(t, "limit", low.Slow.Limit, 3) // 10 accepted in 2 s, Slow is 1 s, and Low may use 0.6 of it
		equal(t, "High is open: no call of it was late", tier(th, throttle.High).Slow.Limit, 0)
		equal(t, "closed", th.Stats().Slow.Closed, true)
		equal(t, "High", th.Do(t.Context(), throttle.High, returns(nil)), nil)
		endAll(calls)
		equal(t, "Low after the ends", th.Do(t.Context(), throttle.Low, returns(nil)), nil)
		time.Sleep(time.Second)
		times(1, th, throttle.Low, nil)
		equal(t, "closed after the ends", th.Stats().Slow.Closed, false)
		wantUsable(t, th)
	})
}

// TestTheGateCountsNoCallsOfLowerPriorities: there is a limit for High too, but the open calls of Low do not reach it.
func TestTheGateCountsNoCallsOfLowerPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Slow: time.Second, Rand: lucky})
		times(10, th, throttle.High, nil)
		admitMany(t, th, throttle.High, 3)
		admitMany(t, th, throttle.Low, 20)
		time.Sleep(1200 * time.Millisecond)
		equal(t, "Low", errors.Is(th.Do(t.Context(), throttle.Low, unwanted(t)), throttle.ErrShed), true)
		equal(t, "limit of High", tier(th, throttle.High).Slow.Limit, 7) // 10 accepted in 2 s, Slow is 1 s, and two more
		admitMany(t, th, throttle.High, 4)
		equal(t, "High at its limit", errors.Is(th.Do(t.Context(), throttle.High, unwanted(t)), throttle.ErrShed), true)
	})
}

// TestTheGateOfALongSlow: late calls are looked for every eighth of Slow, and the calls that were accepted meanwhile are not
// those of 2 s.
func TestTheGateOfALongSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Slow: time.Minute, Rand: lucky})
		play := func(seconds int) {
			for range seconds {
				times(10, th, throttle.High, nil)
				time.Sleep(time.Second)
			}
		}
		play(60)
		calls := admitMany(t, th, throttle.High, 1000)
		play(68)
		equal(t, "limit: 10 calls are accepted in 1 s, and two more", tier(th, throttle.High).Slow.Limit, 602)
		endAll(calls)
	})
}

// TestSlowGateModes: which calls are refused or counted, by the modes of the throttle and of the gate.
func TestSlowGateModes(t *testing.T) {
	for name, c := range map[string]struct {
		mode, gate                    throttle.Mode
		shed, shadow, would, rejected uint64
	}{
		"enforce":         {throttle.ModeEnforce, throttle.ModeEnforce, 5, 0, 0, 6 + 5},
		"shadow gate":     {throttle.ModeEnforce, throttle.ModeShadow, 0, 0, 5, 6},
		"no gate":         {throttle.ModeEnforce, throttle.ModeOff, 0, 0, 0, 6},
		"shadow throttle": {throttle.ModeShadow, throttle.ModeEnforce, 0, 5, 0, 6 + 5},
		"throttle off":    {throttle.ModeOff, throttle.ModeEnforce, 0, 0, 0, 6},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			th := build(t, throttle.Config{Slow: time.Second, Rand: lucky, Mode: c.mode, SlowGate: c.gate})
			calls := hangMany(t, th)
			times(5, th, throttle.Low, nil)
			low := tier(th, throttle.Low)
			equal(t, "shed", low.Shed.Count(throttle.CauseLimit), c.shed)
			equal(t, "in shadow", low.ShadowShed.Cause(throttle.CauseLimit).Sum(), c.shadow)
			equal(t, "would be refused", low.Slow.WouldRefuse, c.would)
			equal(t, "rejected", low.Window.Rejected, c.rejected)
			equal(t, "accepted", low.Window.Accepted, 15-c.shed-c.shadow)
			endAll(calls)
			equal(t, "in flight", inFlight(th), 0)
		}))
	}
}

func TestTuneSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: lucky})
		before := admitMany(t, th, throttle.High, 3)
		tune := func(slow time.Duration) {
			t.Helper()
			equal(t, "Tune", th.Tune(throttle.Patch{Slow: new(throttle.Duration(slow))}), nil)
		}
		tune(100 * time.Millisecond)
		during := admitMany(t, th, throttle.Low, 3)
		time.Sleep(time.Second)
		equal(t, "late", tier(th, throttle.Low).Slow.Late, 3)
		waiting := admitMany(t, th, throttle.High, 3)
		tune(0)
		equal(t, "state while off", th.Stats().Slow, throttle.SlowStats{})
		time.Sleep(time.Second)
		equal(t, "late calls are not forgotten, and are no more while off", tier(th, throttle.Low).Slow.Late, 3)
		tune(time.Second)
		endAll(slices.Concat(before, during, waiting))
		equal(t, "window", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 6})
		equal(t, "open", th.Stats().Slow.Open, 0)
		wantUsable(t, th)
		if err := th.Tune(throttle.Patch{Slow: new(throttle.Duration(time.Microsecond)), SlowGate: new(throttle.Mode(7))}); err == nil ||
			!strings.Contains(err.Error(), "Patch.Slow is 1µs: want 1ms to 1h") || !strings.Contains(err.Error(), "Patch.SlowGate") {
			t.Errorf("got %v", err)
		}
	})
}

// TestSlowWithCanceledAfter: both need the time at which a call began, and the clock goes on between them.
func TestSlowWithCanceledAfter(t *testing.T) {
	var clock atomic.Int64
	th := build(t, throttle.Config{Slow: time.Second, CanceledAfter: time.Second, Rand: lucky, Now: func() time.Time {
		return time.Unix(0, clock.Add(int64(30*time.Millisecond))) // a quarter of a slot of open calls
	}})
	times(100, th, throttle.High, nil)
	high := tier(th, throttle.High)
	equal(t, "late", high.Slow, throttle.SlowTotals{})
	equal(t, "rejected", high.Window.Rejected, 0)
	equal(t, "open", th.Stats().Slow.Open, 0)
}

// TestResponding_clockBack: a call whose answer comes before it has begun took no time.
func TestResponding_clockBack(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	th := build(t, throttle.Config{SlowAuto: true, Now: func() time.Time { return now }})
	for _, d := range []time.Duration{1, 1, 1, 1, -3600, 1, 1, 1, 1, 1} {
		call := admit(t, th, throttle.High)
		now = now.Add(d * time.Second)
		call.Responding()
		call.Done(nil)
		now = now.Add(max(0, -d) * time.Second)
	}
	call := admit(t, th, throttle.High)
	call.Done(nil)
	equal(t, "learned, of ten calls of a second or none", th.Stats().Slow.Learned > time.Second, true)
}

// TestSlowGate_clockBack: after the clock was set back, no late call is found, and the limit of the gate does not stay.
func TestSlowGate_clockBack(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	th := build(t, throttle.Config{Policy: throttle.SRE, Slow: 100 * time.Millisecond, Now: func() time.Time { return now }})
	try := func(n int) (admitted int) {
		for range n {
			now = now.Add(20 * time.Millisecond)
			if _, err := th.Admit(t.Context(), throttle.High); err == nil { // it never ends
				admitted++
			}
		}
		return admitted
	}
	equal(t, "admitted, while it hangs", try(100) < 50, true)
	equal(t, "closed", th.Stats().Slow.Closed, true)
	now = now.Add(-time.Hour)
	before := tier(th, throttle.High).Shed.Count(throttle.CauseLimit)
	try(100)
	equal(t, "refused later", tier(th, throttle.High).Shed.Count(throttle.CauseLimit)-before, 0)
	equal(t, "closed later", th.Stats().Slow.Closed, false)
}
