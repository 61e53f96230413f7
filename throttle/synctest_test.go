package throttle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestAThrottleFromOutsideABubble: the clock of a bubble stands at the year 2000, so for a throttle that was made in the
// present, a package's variable perhaps, time jumps back, and forwards again when the bubble is left. It takes no harm.
func TestAThrottleFromOutsideABubble(t *testing.T) {
	var d diary
	th := build(t, throttle.Config{Hooks: d.hooks(), Rand: lucky})
	times(10, th, throttle.High, nil)
	times(60, th, throttle.Low, errBusy)
	early, err := th.Admit(t.Context(), throttle.Medium)
	equal(t, "Admit outside", err, nil)
	d.tear()
	synctest.Test(t, func(t *testing.T) {
		early.Done(nil)
		equal(t, "what is told of a call that ends before it has begun", d.tear()[0], "finished medium accepted none after 0s: <nil>")
		equal(t, "window, kept across the border", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 10})
		equal(t, "probability, kept across the border", th.RejectionProbability(throttle.Low), 0.5)
		for range 20 {
			times(5, th, throttle.High, errPlain)
			call, err := th.Admit(t.Context(), throttle.High)
			equal(t, "Admit in the bubble", err, nil)
			time.Sleep(10 * time.Second)
			call.Done(nil)
			checkSane(t, th)
		}
		equal(t, "window, the last minute of the bubble", tier(th, throttle.High).Window, throttle.WindowStats{Accepted: 6*5 + 7})
		equal(t, "probability, when all is forgotten", th.RejectionProbability(throttle.Low), 0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { times(10, th, throttle.Important, nil) })
		}
		wg.Wait()
		equal(t, "Tune", th.Tune(func(u *throttle.Tuning) { u.Ratio = 3 }), nil)
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

// TestAThrottleBetweenBubbles is the same with a present that the test can let go on: the second bubble begins ten years before
// the first one ended, and the third one gets there again.
func TestAThrottleBetweenBubbles(t *testing.T) {
	const present = 10 * 365 * 24 * time.Hour
	var th *throttle.Throttle
	window := func() throttle.WindowStats { return tier(th, throttle.High).Window }
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(present)
		th = build(t, throttle.Config{Rand: lucky})
		times(60, th, throttle.High, errBusy)
	})
	for bubble, begin := range []time.Duration{0, present, 0, present} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(begin)
			times(6, th, throttle.High, nil)
			time.Sleep(59 * time.Second)
			want := throttle.WindowStats{Accepted: 6}
			if bubble == 0 {
				want.Rejected = 60 // which the jump back has kept
			}
			equal(t, "window after most of a minute", window(), want)
			time.Sleep(2 * time.Second)
			equal(t, "window after more than a minute", window(), throttle.WindowStats{})
			times(60, th, throttle.High, errBusy)
			equal(t, "probability", th.RejectionProbability(throttle.High), 0.5)
			time.Sleep(2 * time.Minute)
			equal(t, "probability after a silence", th.RejectionProbability(throttle.High), 0)
		})
	}
	equal(t, "calls in all", tier(th, throttle.High).Ended.Sum(), 60+4*66)
}

// TestAGroupFromOutsideABubble: nobody is idle because the clock is odd.
func TestAGroupFromOutsideABubble(t *testing.T) {
	var r register
	g := newGroup(t, r.config, throttle.GroupConfig{Idle: time.Minute})
	a := member(t, g, "a")
	synctest.Test(t, func(t *testing.T) {
		equal(t, "a in the bubble", member(t, g, "a"), a)
		time.Sleep(30 * time.Second)
		member(t, g, "b")
	})
	equal(t, "b outside again", member(t, g, "b"), member(t, g, "b"))
	equal(t, "Close", g.Close(), nil)
	equal(t, "closed", len(r.closed), len(r.created))
}

// TestAfterSilenceTheFirstCallIsAdmitted: traffic that stopped amid an outage comes back two windows later, and is not
// received with what was true then.
func TestAfterSilenceTheFirstCallIsAdmitted(t *testing.T) {
	for _, window := range []time.Duration{time.Second, time.Minute, time.Hour} {
		t.Run(window.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fate die
				th := build(t, throttle.Config{Window: window, Rand: fate.throw})
				for range 240 { // two windows of an outage
					for p := throttle.High; p <= throttle.Low; p++ {
						times(5, th, p, errBusy)
					}
					fate.sheds.Store(!fate.sheds.Load())
					time.Sleep(window / 120)
				}
				fate.sheds.Store(true)
				err := th.Do(t.Context(), throttle.High, succeed)
				equal(t, "shed in the outage", errors.Is(err, throttle.ErrShed), true)
				time.Sleep(2 * window)
				for p := throttle.High; p <= throttle.Low; p++ {
					equal(t, "probability of "+p.String(), th.RejectionProbability(p), 0)
					equal(t, "the first call is admitted", th.Do(context.Background(), p, succeed), nil)
				}
			})
		})
	}
}
