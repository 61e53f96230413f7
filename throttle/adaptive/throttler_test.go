package adaptive_test

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// newThrottler returns a throttler on a clock that stands still, with draws of r.
func newThrottler(t *testing.T, r float64) (*adaptive.Throttler, *throttletest.Clock) {
	t.Helper()
	clock := throttletest.NewClock(time.Unix(0, 0))
	th, err := adaptive.New(adaptive.Config{Now: clock.Now, Rand: throttletest.Always(r)})
	if err != nil {
		t.Fatal(err)
	}
	return th, clock
}

func repeat(n int, f func()) {
	for range n {
		f()
	}
}

func TestThrottlesBelowProbabilityOnly(t *testing.T) {
	const p = 30.0 / 58 // 10 accepts, 40 refusals
	tests := []struct {
		name string
		draw float64
		want bool
	}{
		{"lowest", 0, true},
		{"just below", math.Nextafter(p, 0), true},
		{"equal", p, false},
		{"above", 0.9, false},
		{"out of range", 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			th, _ := newThrottler(t, tt.draw)
			repeat(10, th.Accepted)
			repeat(40, th.Throttled)
			if got := th.ShouldThrottle(); got != tt.want {
				t.Errorf("ShouldThrottle() = %v at a draw of %v and a probability of %v, want %v", got, tt.draw, p, tt.want)
			}
		})
	}
}

func TestThrottledRequestsCountAsRequests(t *testing.T) {
	th, _ := newThrottler(t, 0)
	th.Throttled()
	for i := range 1000 {
		want := float64(1+i) / float64(9+i)
		if got := th.RejectionProbability(); math.Abs(got-want) > 1e-12 {
			t.Fatalf("after %d local throttles: RejectionProbability() = %v, want %v", i, got, want)
		}
		if !th.ShouldThrottle() {
			t.Fatalf("after %d local throttles: ShouldThrottle() = false at a draw of 0", i)
		}
	}
	if got := th.Stats().Window; got != (adaptive.Counts{Rejected: 1, Shed: 1000}) || got.Requests() != 1001 {
		t.Errorf("Window = %+v with %d requests, want 1 and 1000", got, got.Requests())
	}
}

func TestLetThroughRequestsCountWhenTheyAreRegistered(t *testing.T) {
	th, _ := newThrottler(t, 0.999)
	th.Throttled()
	before := th.Stats()
	for range 100 {
		if th.ShouldThrottle() {
			t.Fatal("ShouldThrottle() = true at a draw of 0.999")
		}
	}
	if got := th.Stats(); got != before {
		t.Errorf("Stats() = %+v after decisions alone, want %+v", got, before)
	}
}

func TestProbabilityIsZeroWhileEverythingIsAccepted(t *testing.T) {
	th, clock := newThrottler(t, 0)
	for i := range 1000 {
		if th.ShouldThrottle() || th.RejectionProbability() != 0 {
			t.Fatalf("call %d of a healthy backend throttled", i)
		}
		repeat(i%7, th.Accepted) // demand jumps
		clock.Advance(time.Duration(i%13) * 100 * time.Millisecond)
	}
}

func TestProbabilityStaysUpWhileTheBackendIsDown(t *testing.T) {
	th, clock := newThrottler(t, 0)
	repeat(1000, th.Throttled)
	for range 1000 { // far longer than Duration
		clock.Advance(time.Second)
		repeat(30, func() { th.ShouldThrottle() })
		if got := th.RejectionProbability(); got < 0.9 || got >= 1 {
			t.Fatalf("RejectionProbability() = %v during an outage, want 0.9 to 1", got)
		}
	}
}

func TestProbabilityFallsAsSoonAsTheBackendAccepts(t *testing.T) {
	th, _ := newThrottler(t, 0.5)
	repeat(100, th.Throttled)
	before := th.RejectionProbability()
	th.Accepted()
	if got := th.RejectionProbability(); got >= before {
		t.Errorf("RejectionProbability() = %v after an accept, want less than %v", got, before)
	}
	repeat(99, th.Accepted)
	if got := th.RejectionProbability(); got != 0 {
		t.Errorf("RejectionProbability() = %v with half of the calls accepted and a ratio of 2, want 0", got)
	}
}

func TestAboutRequestsPaddingCallsPerDurationStillGoOut(t *testing.T) {
	for _, padding := range []float64{1, 8, 100} {
		clock := throttletest.NewClock(time.Unix(0, 0))
		th, err := adaptive.New(adaptive.Config{RequestsPadding: padding, Now: clock.Now, Rand: fixedRand(1)})
		if err != nil {
			t.Fatal(err)
		}
		repeat(600, th.Throttled)
		sent := 0.0
		const durations = 100
		for range durations * 600 { // of an outage, 20 calls a second
			clock.Advance(50 * time.Millisecond)
			if !th.ShouldThrottle() {
				sent++
				th.Throttled()
			}
		}
		if got := sent / durations; got < 0.8*padding || got > 1.2*padding {
			t.Errorf("padding %v: %v calls per Duration went out, want about as many", padding, got)
		}
	}
}

func TestAcceptedAndThrottledSayWhatTheBoolSays(t *testing.T) {
	words, _ := newThrottler(t, 0)
	bools, _ := newThrottler(t, 0)
	words.Accepted()
	bools.RegisterBackendResponse(false)
	repeat(2, words.Throttled)
	repeat(2, func() { bools.RegisterBackendResponse(true) })
	want := adaptive.Counts{Accepted: 1, Rejected: 2}
	if got := words.Stats().Window; got != want {
		t.Errorf("in words: Window = %+v, want %+v", got, want)
	}
	if got := bools.Stats().Window; got != want {
		t.Errorf("in bools: Window = %+v, want %+v", got, want)
	}
}

func TestNilAndZeroThrottlerThrottleAndCountNothing(t *testing.T) {
	for name, th := range map[string]*adaptive.Throttler{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			th.RegisterBackendResponse(true)
			th.RegisterBackendResponse(false)
			th.Accepted()
			repeat(100, th.Throttled)
			if th.ShouldThrottle() {
				t.Error("ShouldThrottle() = true")
			}
			if got := th.RejectionProbability(); got != 0 {
				t.Errorf("RejectionProbability() = %v, want 0", got)
			}
			if got := th.Stats(); got != (adaptive.Stats{}) {
				t.Errorf("Stats() = %+v, want none", got)
			}
		})
	}
}

func TestConfigIsCopied(t *testing.T) {
	c := adaptive.Config{RequestsPadding: 1}
	th, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	c.RequestsPadding = 1000
	th.Throttled()
	if got := th.RejectionProbability(); got != 0.5 {
		t.Errorf("RejectionProbability() = %v, want 0.5", got)
	}
}

func TestTotalsNeverFall(t *testing.T) {
	th, clock := newThrottler(t, 0)
	repeat(3, th.Accepted)
	repeat(5, th.Throttled)
	repeat(2, func() { th.ShouldThrottle() })
	clock.Advance(time.Hour)
	want := adaptive.Stats{Total: adaptive.Counts{Accepted: 3, Rejected: 5, Shed: 2}}
	if got := th.Stats(); got != want {
		t.Errorf("Stats() = %+v after an hour, want %+v", got, want)
	}
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	zero, _ := newThrottler(t, 0)
	clock := throttletest.NewClock(time.Unix(0, 0))
	spelt, err := adaptive.New(adaptive.Config{
		Duration: 30 * time.Second, Bins: 100, RatioForAccepts: 2, RequestsPadding: 8, Now: clock.Now, Rand: throttletest.Always(0),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range []*adaptive.Throttler{zero, spelt} {
		repeat(3, th.Accepted)
		repeat(9, th.Throttled)
		if got, want := th.RejectionProbability(), (12.0-2*3)/(12+8); math.Abs(got-want) > 1e-15 {
			t.Errorf("RejectionProbability() = %v, want %v", got, want)
		}
	}
}
