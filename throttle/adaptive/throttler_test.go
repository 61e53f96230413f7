package adaptive_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func mustNew(t *testing.T, c adaptive.Config) *adaptive.Throttler {
	t.Helper()
	return throttle.Must(adaptive.New(c))
}

// newThrottler returns a throttler whose clock stands still, and draws of r.
func newThrottler(t *testing.T, r float64) *adaptive.Throttler {
	t.Helper()
	return mustNew(t, adaptive.Config{Now: throttletest.NewClock(time.Unix(0, 0)).Now, Rand: throttletest.Always(r)})
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

func repeat(n int, f func()) {
	for range n {
		f()
	}
}

func TestNilAndZeroThrottlerThrottleAndCountNothing(t *testing.T) {
	for name, th := range map[string]*adaptive.Throttler{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			th.RegisterBackendResponse(true)
			th.RegisterBackendResponse(false)
			th.Accepted()
			repeat(100, th.Throttled)
			equal(t, "ShouldThrottle", th.ShouldThrottle(), false)
			equal(t, "RejectionProbability", th.RejectionProbability(), 0)
			equal(t, "Stats", th.Stats(), adaptive.Stats{})
		})
	}
}

func TestRejectionProbability(t *testing.T) {
	for _, tt := range []struct {
		name              string
		c                 adaptive.Config
		accepted, refused int
		throttled         int // locally
		want              float64
	}{
		{name: "nothing happened"},
		{name: "everything accepted", accepted: 100},
		{name: "half accepted", accepted: 50, refused: 50},
		{name: "a little less", accepted: 49, refused: 51, want: 2.0 / 108},
		{name: "one refusal", refused: 1, want: 1.0 / 9},
		{name: "throttled calls are requests", refused: 1, throttled: 1000, want: 1001.0 / 1009},
		{name: "ratio 1", c: adaptive.Config{RatioForAccepts: 1}, accepted: 90, refused: 10, want: 10.0 / 108},
		{name: "padding 4", c: adaptive.Config{RequestsPadding: 4}, refused: 4, want: 4.0 / 8},
	} {
		clock := throttletest.NewClock(time.Unix(0, 0))
		tt.c.Now, tt.c.Rand = clock.Now, throttletest.Always(0)
		th := mustNew(t, tt.c)
		repeat(tt.accepted, th.Accepted)
		repeat(tt.refused, th.Throttled)
		repeat(tt.throttled, func() { th.ShouldThrottle() })
		if got := th.RejectionProbability(); math.Abs(got-tt.want) > 1e-15 {
			t.Errorf("%s: got %v want %v", tt.name, got, tt.want)
		}
		want := adaptive.Counts{Accepted: uint64(tt.accepted), Rejected: uint64(tt.refused), Shed: uint64(tt.throttled)}
		equal(t, tt.name+": window", th.Stats().Window, want)
		equal(t, tt.name+": total", th.Stats().Total, want)
		equal(t, tt.name+": requests", want.Requests(), uint64(tt.accepted+tt.refused+tt.throttled))
	}
}

// TestShouldThrottle_exact draws a little less and a little more than the probability, which is exact with few calls.
func TestShouldThrottle_exact(t *testing.T) {
	clock, dice, draw := throttletest.NewClock(time.Unix(0, 0)), rand.New(rand.NewPCG(1, 2)), 0.0
	th := mustNew(t, adaptive.Config{Now: clock.Now, Rand: func() float64 { return draw }})
	throttled := 0
	for i := range 4000 {
		clock.Advance(time.Duration(dice.Int64N(int64(2 * time.Second)))) // about 30 in the window
		if i%400 == 0 {
			clock.Advance(time.Minute)
		}
		th.RegisterBackendResponse(dice.IntN(3) > 0)
		p := th.RejectionProbability()
		draw = p + 1e-9*float64(i%2*2-1)
		got := th.ShouldThrottle()
		equal(t, fmt.Sprintf("call %d at a draw of %v and a probability of %v", i, draw, p), got, p > 0 && draw < p)
		if got {
			throttled++
		}
	}
	if throttled < 500 {
		t.Errorf("got %d calls throttled want more", throttled)
	}
}

// TestWindowForgets has a throttler of before the bubble, whose clock is years apart, and one of its own.
func TestWindowForgets(t *testing.T) {
	outside := mustNew(t, adaptive.Config{Rand: throttletest.Always(0)})
	outside.Throttled()
	synctest.Test(t, func(t *testing.T) {
		for _, th := range []*adaptive.Throttler{outside, mustNew(t, adaptive.Config{Rand: throttletest.Always(0)})} {
			before := th.Stats().Total.Rejected
			time.Sleep(time.Minute)
			repeat(50, th.Throttled)
			time.Sleep(30*time.Second - time.Nanosecond)
			if got := th.Stats(); got.Window.Requests() != 50 || got.Probability == 0 {
				t.Errorf("just before Duration is over: got %+v want 50 requests", got)
			}
			time.Sleep(600*time.Millisecond + time.Nanosecond)
			equal(t, "throttles with an empty window", th.ShouldThrottle(), false)
			if got := th.Stats(); got.Window.Requests() != 0 || got.Probability != 0 || got.Total.Rejected != before+50 {
				t.Errorf("after Duration and two bins: got %+v want an empty window", got)
			}
		}
	})
	outside.Throttled()
	equal(t, "outside again, the refusal counts", outside.ShouldThrottle(), true)
}
