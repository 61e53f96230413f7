package throttle_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestTheRatioIsHowManyCallsReachTheBackendForEachThatItAccepts(t *testing.T) {
	for _, k := range sized([]float64{1.1, 1.5, 2, 3}, []float64{1.1, 2}) {
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
	}
}

func TestTheTrafficFollowsTheCapacityOfTheBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: seeded()})
		s := &server{}
		for _, s.perSecond = range []int{20, 10, 40} {
			traffic(th, s, 100, 2*time.Minute, throttle.High) // settle
			s.sent = 0
			traffic(th, s, 100, time.Minute, throttle.High)
			if got, want := float64(s.sent)/60, 2*float64(s.perSecond); got < 0.8*want || got > 1.2*want {
				t.Errorf("calls per second sent to a backend for %d: got %.1f want about %.0f", s.perSecond, got, want)
			}
		}
	})
}

// reactionTo returns how long an outage of two minutes lasts until the throttle sheds, and how long
// it sheds after its end.
func reactionTo(t *testing.T, c throttle.Config) (begins, ends time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Rand = seeded()
		th := build(t, c)
		const rate, step = 10, 100 * time.Millisecond
		healthy, dead := &server{perSecond: 1000}, &server{}
		traffic(th, healthy, rate, 2*time.Minute, throttle.High)
		for ; th.RejectionProbability(throttle.High) == 0; begins += step {
			traffic(th, dead, rate, step, throttle.High)
		}
		traffic(th, dead, rate, 2*time.Minute, throttle.High)
		for ; th.RejectionProbability(throttle.High) > 0; ends += step {
			traffic(th, healthy, rate, step, throttle.High)
		}
	})
	return begins, ends
}

func TestHowRatioAndWindowReactToAnOutage(t *testing.T) {
	for _, c := range []struct {
		name             string
		sooner, later    throttle.Config // which begins to shed
		laterStopsSooner bool
	}{
		{"ratio 1.1 and 2", throttle.Config{Ratio: 1.1}, throttle.Config{Ratio: 2}, true},
		{"ratio 2 and 3", throttle.Config{Ratio: 2}, throttle.Config{Ratio: 3}, true},
		{"window 20 s and 2 min", throttle.Config{Window: 20 * time.Second}, throttle.Config{Window: 2 * time.Minute}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			begins, ends := reactionTo(t, c.sooner)
			laterBegins, laterEnds := reactionTo(t, c.later)
			if begins >= laterBegins {
				t.Errorf("begin of shedding: got %v and %v want the first sooner", begins, laterBegins)
			}
			if (laterEnds < ends) != c.laterStopsSooner || laterEnds == ends {
				t.Errorf("end of shedding: got %v and %v want the second sooner: %v", ends, laterEnds, c.laterStopsSooner)
			}
		})
	}
}

// TestTheFormula: the padding is the minimum rate times the window.
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
		{2, 0, 0, 5, 5. / 65},        // a cold start is hardly shed
		{2, 10, 100, 300, 200. / 1000},
	} {
		th := build(t, throttle.Config{Ratio: c.k, MinimumRate: c.rate, Rand: lucky})
		times(c.accepted, th, throttle.High, nil)
		times(c.rejected, th, throttle.High, errBusy)
		if got := th.RejectionProbability(throttle.High); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("probability with K=%v, rate %v, %d accepted, %d rejected: got %v want %v", c.k, c.rate, c.accepted, c.rejected, got, c.want)
		}
	}
}
