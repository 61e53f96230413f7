package throttle_test

import (
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
