package throttle_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// checkSane fails the test if a probability has left its range.
func checkSane(t testing.TB, th *throttle.Throttle) {
	t.Helper()
	for _, ps := range th.Stats().Priorities {
		for _, p := range []float64{ps.Probability, th.RejectionProbability(ps.Priority)} {
			if math.IsNaN(p) || p < 0 || p >= 1 {
				t.Fatalf("probability of %v: got %v want one in [0, 1)", ps.Priority, p)
			}
		}
	}
}

// jumps are what a clock of the user's may do.
var jumps = map[string]func(time.Time) time.Time{
	"stands still":            func(now time.Time) time.Time { return now },
	"a nanosecond back":       func(now time.Time) time.Time { return now.Add(-1) },
	"a minute back":           func(now time.Time) time.Time { return now.Add(-time.Minute) },
	"an hour back":            func(now time.Time) time.Time { return now.Add(-time.Hour) },
	"to the zero time":        func(time.Time) time.Time { return time.Time{} },
	"to 1970":                 func(time.Time) time.Time { return time.Unix(0, 0) },
	"a window forwards":       func(now time.Time) time.Time { return now.Add(time.Minute) },
	"ten years forwards":      func(now time.Time) time.Time { return now.AddDate(10, 0, 0) },
	"three hundred years":     func(now time.Time) time.Time { return now.AddDate(300, 0, 0) },
	"to the year 9999":        func(time.Time) time.Time { return newYear(9999) },
	"to the last of all time": func(time.Time) time.Time { return time.Unix(math.MaxInt64-62135596801, 999999999) },
}

// TestAClockThatJumpsAmidAnOverload, once and for good or there and back: probabilities stay in
// their range, no call is lost, and the throttle recovers with its backend.
func TestAClockThatJumpsAmidAnOverload(t *testing.T) {
	for name, jump := range jumps {
		for _, returns := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, returns %v", name, returns), func(t *testing.T) {
				var fate die
				clock := newYear(2026)
				th := build(t, throttle.Config{Now: func() time.Time { return clock }, Rand: fate.throw})
				now, rounds := clock, 1+2*int(count(returns))
				for range rounds {
					times(100, th, throttle.High, errBusy)
					call := admit(t, th, throttle.Low)
					clock = jump(now)
					call.Done(errBusy)
					checkSane(t, th)
					times(100, th, throttle.High, errBusy)
					checkSane(t, th)
					if p := th.RejectionProbability(throttle.High); p < 0.6 {
						t.Errorf("probability after 100 rejections at the new time: got %v want at least 0.6", p)
					}
					if returns {
						clock = now
						checkSane(t, th)
					}
				}
				for range 1200 { // two good minutes
					clock = clock.Add(100 * time.Millisecond)
					_ = th.Do(t.Context(), throttle.High, succeed)
				}
				fate.sheds.Store(true) // the dice are as bad as can be
				equal(t, "probability after the recovery", th.RejectionProbability(throttle.High), 0)
				equal(t, "the function ran", ran(th, throttle.High, nil), true)
				equal(t, "in flight", inFlight(th), 0)
				equal(t, "counted", tier(th, throttle.High).Ended.Sum(), uint64(200*rounds+1200+1))
			})
		}
	}
}

// TestAThrottleFromOutsideABubble: the clock of a bubble stands at the year 2000, so for a throttle that was made in the
// present, a package's variable perhaps, time jumps back, and forwards again when the bubble is left. It takes no harm.
func TestAThrottleFromOutsideABubble(t *testing.T) {
	var w witness
	th := build(t, throttle.Config{Hooks: w.hooks(), Rand: lucky})
	times(10, th, throttle.High, nil)
	times(60, th, throttle.Low, errBusy)
	early := admit(t, th, throttle.Medium)
	w.tear()
	synctest.Test(t, func(t *testing.T) {
		early.Done(nil)
		equal(t, "the event of a call that ends before it has begun", w.tear()[0], "finished medium accepted none after 0s: <nil>")
		equal(t, "window, kept across the border", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 10})
		equal(t, "probability, kept across the border", th.RejectionProbability(throttle.Low), 0.5)
		for range 20 {
			times(5, th, throttle.High, errPlain)
			call := admit(t, th, throttle.High)
			time.Sleep(10 * time.Second)
			call.Done(nil)
			checkSane(t, th)
		}
		equal(t, "window, the last minute of the bubble", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 6*5 + 7})
		equal(t, "probability, when all is forgotten", th.RejectionProbability(throttle.Low), 0)
		parallel(8, func(int) { times(10, th, throttle.Important, nil) })
		equal(t, "Tune", th.Tune(throttle.Patch{Ratio: new(3.0)}), nil)
	})
	times(10, th, throttle.High, errBusy)
	equal(t, "window, back outside", tier(th, throttle.High).Window, throttle.WindowStats{Rejected: 10})
	equal(t, "probability, back outside", near(th.RejectionProbability(throttle.High), 10.0/70), true)
	wantAdmitted(t, th, throttle.Important, 80, throttle.Accepted, throttle.FaultNone)
	wantAdmitted(t, th, throttle.Medium, 1, throttle.Accepted, throttle.FaultNone)
	equal(t, "calls of high priority, in all", tier(th, throttle.High).Ended.Sum(), 10+20*6+10)
	equal(t, "in flight", inFlight(th), 0)
	equal(t, "Close", th.Close(), nil)
}
