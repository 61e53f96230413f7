package throttle_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// callsOf makes n calls that take d each, one after the other.
func callsOf(t *testing.T, th *throttle.Throttle, n int, d time.Duration) {
	t.Helper()
	for range n {
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(d); return nil })
	}
}

// learnedBetween checks the learned Slow.
func learnedBetween(t *testing.T, what string, th *throttle.Throttle, least, most time.Duration) {
	t.Helper()
	if got := th.Stats().Slow.Learned; got < least || got > most {
		t.Errorf("%s: learned %v, want %v to %v", what, got, least, most)
	}
}

func TestSlowAutoLearns(t *testing.T) {
	for name, c := range map[string]struct {
		play        func(t *testing.T, th *throttle.Throttle)
		least, most time.Duration
	}{
		"nothing before the first period": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 90, 100*time.Millisecond)
		}, 0, 0},
		"1.75 times the 99th percentile": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 110, 100*time.Millisecond)
		}, 175 * time.Millisecond, 197 * time.Millisecond}, // a range is up to an eighth wide
		"not of the last hundredth": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 200, 10*time.Millisecond)
			callsOf(t, th, 2, 3*time.Second)
			callsOf(t, th, 400, 10*time.Millisecond)
		}, 17 * time.Millisecond, 20 * time.Millisecond},
		"a period with few calls goes on": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 49, time.Second)
			learnedBetween(t, "after 49 calls", th, 0, 0)
			callsOf(t, th, 12, time.Second)
		}, 1750 * time.Millisecond, 1970 * time.Millisecond},
		"at least 5 ms": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 11000, time.Millisecond)
		}, 5 * time.Millisecond, 5 * time.Millisecond},
		"the median of periods": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 3*101, 100*time.Millisecond)
			callsOf(t, th, 60, 400*time.Millisecond)
		}, 175 * time.Millisecond, 197 * time.Millisecond},
		"only of accepted calls": {func(t *testing.T, th *throttle.Throttle) {
			for range 110 {
				_ = th.Do(t.Context(), throttle.High, func(context.Context) error { time.Sleep(time.Second); return context.Canceled })
				callsOf(t, th, 1, 100*time.Millisecond)
			}
		}, 175 * time.Millisecond, 197 * time.Millisecond},
		"not while calls are shed": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 110, 100*time.Millisecond)
			for range 60 {
				callsOf(t, th, 1, time.Second)
				times(10, th, throttle.High, errBusy)
			}
		}, 175 * time.Millisecond, 197 * time.Millisecond},
		"forgets": {func(t *testing.T, th *throttle.Throttle) {
			callsOf(t, th, 30*101, 100*time.Millisecond)
			callsOf(t, th, 17*51, 200*time.Millisecond)
		}, 350 * time.Millisecond, 394 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := build(t, throttle.Config{SlowAuto: true})
				c.play(t, th)
				learnedBetween(t, "at the end", th, c.least, c.most)
			})
		})
	}
}

// TestSlowAutoChangesNothing: the window, the decisions and what Slow counts are the same with it.
func TestSlowAutoChangesNothing(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var stats [2]throttle.Stats
			for i := range stats {
				th := build(t, throttle.Config{SlowAuto: i == 1, Slow: slow})
				callsOf(t, th, 110, 100*time.Millisecond)
				callsOf(t, th, 5, 2*time.Second)
				stats[i] = th.Stats()
			}
			equal(t, "would be late", stats[1].Priorities[throttle.High].Slow.WouldBeLate, 5)
			equal(t, "late", stats[1].Priorities[throttle.High].Slow.Late, stats[0].Priorities[throttle.High].Slow.Late)
			stats[1].Priorities[throttle.High].Slow.WouldBeLate = 0
			equal(t, "priority", stats[1].Priorities[throttle.High], stats[0].Priorities[throttle.High])
			equal(t, "Auto", stats[1].Slow.Auto, true)
			stats[1].Slow.Auto, stats[1].Slow.Learned = false, 0
			equal(t, "state", stats[1].Slow, stats[0].Slow)
		})
	}
}

// TestSlowAutoDoesNotLearnWhileTheGateRefuses: what Slow does to the durations is no good day.
func TestSlowAutoDoesNotLearnWhileTheGateRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{SlowAuto: true, Slow: time.Second, Rand: lucky})
		callsOf(t, th, 110, 100*time.Millisecond)
		calls := hangMany(t, th)
		for range 48 {
			times(5, th, throttle.Low, nil)
			callsOf(t, th, 1, 200*time.Millisecond)
		}
		if tier(th, throttle.Low).Shed.Count(throttle.CauseLimit) < 5 {
			t.Error("the gate has refused no call")
		}
		learnedBetween(t, "at the end", th, 175*time.Millisecond, 197*time.Millisecond)
		for _, call := range calls {
			call.Done(nil)
		}
	})
}

func TestTuneSlowAuto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{SlowAuto: true, Slow: time.Second})
		tune := func(auto bool, slow time.Duration) {
			t.Helper()
			equal(t, "Tune", th.Tune(throttle.Patch{SlowAuto: new(auto), Slow: new(throttle.Duration(slow))}), nil)
		}
		callsOf(t, th, 110, 100*time.Millisecond)
		tune(true, 500*time.Millisecond)
		learnedBetween(t, "with another Slow", th, 175*time.Millisecond, 197*time.Millisecond)
		tune(true, 0)
		learnedBetween(t, "without Slow", th, 175*time.Millisecond, 197*time.Millisecond)
		calls := admitMany(t, th, throttle.Low, 3)
		tune(false, time.Second)
		equal(t, "while off", th.Stats().Slow, throttle.SlowStats{Slow: time.Second})
		for _, call := range calls {
			call.Done(nil)
		}
		equal(t, "open", th.Stats().Slow.Open, 0)
		tune(true, time.Second)
		equal(t, "begins again", th.Stats().Slow.Learned, 0)
		tune(false, 0)
		equal(t, "off", th.Stats().Slow, throttle.SlowStats{})
		wantUsable(t, th)
	})
}

// TestTuneSlowAutoDuringCalls: whatever is turned on and off meanwhile, no call stays open.
func TestTuneSlowAutoDuringCalls(t *testing.T) {
	th := build(t, throttle.Config{Rand: lucky})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() { times(2000, th, throttle.Low, nil) })
	}
	for i := range 200 {
		equal(t, "Tune", th.Tune(throttle.Patch{
			SlowAuto: new(i%2 == 0), Slow: new(throttle.Duration(i%3) * throttle.Duration(time.Second)),
		}), nil)
		th.Stats()
	}
	callers.Wait()
	equal(t, "in flight", inFlight(th), 0)
	equal(t, "open", th.Stats().Slow.Open, 0)
	equal(t, "accepted", tier(th, throttle.Low).Ended.Sum(), 8000)
}

func TestGroupTunesSlowAuto(t *testing.T) {
	g := throttle.Must(throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "hosts"} }, throttle.GroupConfig{}))
	first := throttle.Must(g.Get("a"))
	equal(t, "Tune", g.Tune(throttle.Patch{SlowAuto: new(true)}), nil)
	for _, th := range []*throttle.Throttle{first, throttle.Must(g.Get("b"))} {
		equal(t, "Auto", th.Stats().Slow.Auto, true)
	}
}

// TestSlowAutoAllocatesNothing per call.
func TestSlowAutoAllocatesNothing(t *testing.T) {
	th := build(t, throttle.Config{SlowAuto: true})
	call := func() {
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { runtime.Gosched(); return nil })
	}
	call()
	if n := testing.AllocsPerRun(1000, call); n != 0 {
		t.Errorf("a call allocates %v times, want none", n)
	}
}
