package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

func TestTheRatioIsHowManyCallsReachTheBackendForEachItAccepts(t *testing.T) {
	for _, k := range []float64{1.1, 1.5, 2, 3} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := build(t, throttle.Config{Ratio: k, MinimumRate: 0.1, Rand: seeded()})
				s := &server{perSecond: 10}
				traffic(th, s, 100, 2*time.Minute, throttle.High) // settle
				s.sent, s.accepted = 0, 0
				traffic(th, s, 100, 3*time.Minute, throttle.High)
				if got := float64(s.sent) / float64(s.accepted); math.Abs(got-k) > 0.05 {
					t.Errorf("calls sent for each accepted: got %.2f want %v", got, k)
				}
			})
		})
	}
}

// reaction is how a throttle takes an outage of two minutes.
type reaction struct {
	shedsAfter, openAfter time.Duration // since the outage began, since it ended
	sent                  int           // to the backend, during the last 30 s of it
}

func reactionOf(t *testing.T, c throttle.Config) reaction {
	t.Helper()
	var r reaction
	synctest.Test(t, func(t *testing.T) {
		c.Rand = seeded()
		th := build(t, c)
		const rate, step = 10, 100 * time.Millisecond
		healthy := &server{perSecond: 1000}
		traffic(th, healthy, rate, 2*time.Minute, throttle.High)
		dead := &server{}
		for th.RejectionProbability(throttle.High) == 0 {
			traffic(th, dead, rate, step, throttle.High)
			r.shedsAfter += step
		}
		traffic(th, dead, rate, 90*time.Second, throttle.High)
		dead.sent = 0
		traffic(th, dead, rate, 30*time.Second, throttle.High)
		r.sent = dead.sent
		for th.RejectionProbability(throttle.High) > 0 {
			traffic(th, healthy, rate, step, throttle.High)
			r.openAfter += step
		}
	})
	return r
}

func TestAHigherRatioReactsLaterToAnOutageAndSoonerToItsEnd(t *testing.T) {
	low, standard, high := reactionOf(t, throttle.Config{Ratio: 1.1}), reactionOf(t, throttle.Config{Ratio: 2}), reactionOf(t, throttle.Config{Ratio: 3})
	for _, pair := range [][2]reaction{{low, standard}, {standard, high}} {
		lower, higher := pair[0], pair[1]
		if lower.shedsAfter >= higher.shedsAfter {
			t.Errorf("begin of shedding: got %v with the lower ratio, %v with the higher want it sooner", lower.shedsAfter, higher.shedsAfter)
		}
		if lower.openAfter <= higher.openAfter {
			t.Errorf("end of shedding: got %v with the lower ratio, %v with the higher want it later", lower.openAfter, higher.openAfter)
		}
	}
}

func TestAHigherRatioSendsMoreToAnUnhealthyBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := map[float64]int{}
		for _, k := range []float64{1.1, 2, 3} {
			s := &server{perSecond: 10}
			traffic(build(t, throttle.Config{Ratio: k, Rand: seeded()}), s, 100, 2*time.Minute, throttle.High)
			sent[k] = s.sent
		}
		equal(t, "1.1 sends less than 2", sent[1.1] < sent[2], true)
		equal(t, "2 sends less than 3", sent[2] < sent[3], true)
	})
}

func TestMinimumRateKeepsProbing(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 3} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := build(t, throttle.Config{MinimumRate: rate, Rand: seeded()})
				dead := &server{}
				traffic(th, dead, 50, 2*time.Minute, throttle.High) // settle
				dead.sent = 0
				traffic(th, dead, 50, 10*time.Minute, throttle.High)
				if got := float64(dead.sent) / 600; got < 0.8*rate || got > 1.2*rate {
					t.Errorf("calls per second that reach a dead backend: got %.2f want about %v", got, rate)
				}
			})
		})
	}
}

func TestProbesFindOutThatTheBackendIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: seeded()})
		traffic(th, &server{}, 50, 10*time.Minute, throttle.High)
		traffic(th, &server{perSecond: 1000}, 50, 4*time.Minute, throttle.High)
		equal(t, "probability", th.RejectionProbability(throttle.High), 0)
	})
}

func TestTheWindowIsOneMinuteByDefault(t *testing.T) {
	for window, c := range map[time.Duration]throttle.Config{
		time.Minute:     {},
		5 * time.Minute: {Window: 5 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.Rand = lucky
			th := build(t, c)
			time.Sleep(1234 * time.Millisecond)
			times(100, th, throttle.High, errBusy)
			time.Sleep(window)
			equal(t, "remembered after the window", tier(th, throttle.High).Window.Rejected, 100)
			equal(t, "probability then is not 0", th.RejectionProbability(throttle.High) > 0, true)
			time.Sleep(window / 100)
			equal(t, "remembered a hundredth later", tier(th, throttle.High).Window.Rejected, 0)
			equal(t, "probability then", th.RejectionProbability(throttle.High), 0)
		})
	}
}

func TestALargerWindowReactsMoreSlowlyToChanges(t *testing.T) {
	short, long := reactionOf(t, throttle.Config{Window: 20 * time.Second}), reactionOf(t, throttle.Config{Window: 2 * time.Minute})
	if short.shedsAfter >= long.shedsAfter {
		t.Errorf("begin of shedding: got %v with the short window, %v with the long one want it sooner", short.shedsAfter, long.shedsAfter)
	}
	if short.openAfter >= long.openAfter {
		t.Errorf("end of shedding: got %v with the short window, %v with the long one want it sooner", short.openAfter, long.openAfter)
	}
}

func TestALargerWindowIsMoreResilientToShortFluctuations(t *testing.T) {
	for window, sheds := range map[time.Duration]bool{5 * time.Second: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			th := build(t, throttle.Config{Window: window, Rand: lucky})
			traffic(th, &server{perSecond: 1000}, 50, 2*time.Minute, throttle.High)
			traffic(th, &server{}, 50, 10*time.Second, throttle.High)
			got := th.RejectionProbability(throttle.High) > 0
			equal(t, fmt.Sprintf("would shed after 10 bad seconds with a window of %v", window), got, sheds)
		})
	}
}

// Departure: a larger window needs no more memory, because it is remembered in coarser steps.
func TestALargerWindowNeedsNoMoreMemory(t *testing.T) {
	size := func(window time.Duration) float64 {
		const n = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			build(t, throttle.Config{Window: window})
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	short, long := size(time.Second), size(time.Hour)
	if long > 1.1*short {
		t.Errorf("bytes of a throttle: got %.0f for an hour, %.0f for a second want the same", long, short)
	}
}

// Departure: WithAcceptedErrors is AcceptIf, and does not reach marked errors.
func TestAcceptedErrorsAreNotCountedTowardsThrottling(t *testing.T) {
	accepted := func(err error) bool { return errors.Is(err, context.Canceled) || faults.IsUnavailable(err) }
	th := build(t, throttle.Config{Classify: throttle.AcceptIf(accepted), Rand: unlucky})
	times(1000, th, throttle.High, errBusy)
	times(1000, th, throttle.High, context.Canceled)
	equal(t, "probability", th.RejectionProbability(throttle.High), 0)
	equal(t, "accepted", tier(th, throttle.High).Ended.Outcome(throttle.Accepted), 2000)

	times(1, th, throttle.High, faults.ResourceExhausted())
	times(1, th, throttle.High, throttle.RejectedError(errBusy))
	equal(t, "rejected: another fault, and a mark", tier(th, throttle.High).Ended.Outcome(throttle.Rejected), 2)
}

// history makes a throttle whose window holds so many accepted and rejected calls. Nothing has been shed.
func history(t *testing.T, c throttle.Config, accepted, rejected int) *throttle.Throttle {
	t.Helper()
	c.Rand = lucky
	th := build(t, c)
	times(accepted, th, throttle.High, nil)
	times(rejected, th, throttle.High, errBusy)
	return th
}

// Departure: the 1 in the denominator is the minimum rate times the window, and so 1 with one probe per window.
func TestTheFormula(t *testing.T) {
	const perMinute = 1.0 / 60
	for _, c := range []struct {
		k, rate            float64
		accepted, rejected int
		want               float64
	}{
		{2, perMinute, 0, 0, 0},
		{2, perMinute, 100, 0, 0},
		{2, perMinute, 50, 50, 0},
		{2, perMinute, 0, 1, 1. / 2},
		{2, perMinute, 50, 51, 1. / 102},
		{2, perMinute, 100, 300, 200. / 401},
		{1.1, perMinute, 100, 300, 290. / 401},
		{4, perMinute, 100, 300, 0},
		{2, 0, 100, 300, 200. / 460}, // one per second, in a minute
		{2, 10, 100, 300, 200. / 1000},
	} {
		th := history(t, throttle.Config{Ratio: c.k, MinimumRate: c.rate}, c.accepted, c.rejected)
		if got := th.RejectionProbability(throttle.High); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("probability with K=%v, rate %v, %d accepted, %d rejected: got %v want %v", c.k, c.rate, c.accepted, c.rejected, got, c.want)
		}
	}
}

func TestRequestsGoOnUntilTheyAreKTimesTheAccepts(t *testing.T) {
	th := history(t, throttle.Config{Ratio: 3}, 100, 200)
	equal(t, "probability at three times the accepts", th.RejectionProbability(throttle.High), 0)
	times(1, th, throttle.High, errBusy)
	equal(t, "probability above is not 0", th.RejectionProbability(throttle.High) > 0, true)
}

func TestCallsRejectedLocallyCountAsRequests(t *testing.T) {
	th := shedding(t, throttle.Config{})
	before := tier(th, throttle.High)
	times(100, th, throttle.High, nil) // all shed
	after := tier(th, throttle.High)
	equal(t, "requests", after.Window.Requests(), before.Window.Requests()+100)
	equal(t, "shed", after.Window.Shed, before.Window.Shed+100)
	equal(t, "rejected", after.Window.Rejected, before.Window.Rejected)
	equal(t, "probability has risen", after.Probability > before.Probability, true)
}

func TestTheProbabilityGrowsWithTheRateOfRequests(t *testing.T) {
	last := 0.0
	for _, perSecond := range []int{30, 60, 120, 240} {
		synctest.Test(t, func(t *testing.T) {
			th := build(t, throttle.Config{Rand: seeded()})
			traffic(th, &server{perSecond: 10}, perSecond, 2*time.Minute, throttle.High)
			got := th.RejectionProbability(throttle.High)
			if got <= last || got >= 1 {
				t.Errorf("probability at %d calls per second: got %v want more than %v, less than 1", perSecond, got, last)
			}
			last = got
		})
	}
}
