package adaptive_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// newThrottler returns a throttler with a clock that only the test advances, and draws of r.
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

// fixedRand returns draws that are the same every time, for one goroutine.
func fixedRand(seed uint64) func() float64 {
	return rand.New(rand.NewPCG(seed, seed)).Float64
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
	paddings, durations := []float64{1, 8, 100}, 100
	if testing.Short() {
		paddings, durations = []float64{8}, 40
	}
	for _, padding := range paddings {
		clock := throttletest.NewClock(time.Unix(0, 0))
		th, err := adaptive.New(adaptive.Config{RequestsPadding: padding, Now: clock.Now, Rand: fixedRand(1)})
		if err != nil {
			t.Fatal(err)
		}
		repeat(600, th.Throttled)
		sent := 0.0
		for range durations * 600 { // of an outage, 20 calls a second
			clock.Advance(50 * time.Millisecond)
			if !th.ShouldThrottle() {
				sent++
				th.Throttled()
			}
		}
		if got := sent / float64(durations); got < 0.8*padding || got > 1.2*padding {
			t.Errorf("padding %v: %v calls per Duration went out, want about as many", padding, got)
		}
	}
}

func TestAcceptedAndThrottledEqualTheBool(t *testing.T) {
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

func TestNothingIsLostOrCountedTwice(t *testing.T) {
	th, err := adaptive.New(adaptive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	workers, calls := 64, 2000
	if testing.Short() {
		calls = 200
	}
	var local, accepted, throttled atomic.Uint64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for call := range calls {
				switch {
				case th.ShouldThrottle():
					local.Add(1)
				case (worker+call)%3 == 0:
					th.Accepted()
					accepted.Add(1)
				default:
					th.RegisterBackendResponse(true)
					throttled.Add(1)
				}
				if p := th.RejectionProbability(); p < 0 || p >= 1 {
					t.Errorf("RejectionProbability() = %v", p)
				}
			}
		})
	}
	wg.Wait()
	want := adaptive.Counts{
		Accepted: accepted.Load(), Rejected: throttled.Load(), Shed: local.Load(),
	}
	if got := th.Stats().Total; got != want || got.Requests() != uint64(workers*calls) {
		t.Errorf("Total = %+v, want %+v, %d in all", got, want, workers*calls)
	}
	if want.Shed == 0 {
		t.Error("nothing was throttled locally")
	}
}

// TestUserFunctionsRunUnderNoLock: a Now and a Rand that call the throttler would deadlock.
func TestUserFunctionsRunUnderNoLock(t *testing.T) {
	clock := throttletest.NewClock(time.Unix(0, 0))
	var th *adaptive.Throttler
	calling := false
	call := func() {
		if th == nil || calling {
			return
		}
		calling = true
		th.Throttled()
		th.ShouldThrottle()
		th.Stats()
		calling = false
	}
	th, err := adaptive.New(adaptive.Config{
		Now:  func() time.Time { call(); return clock.Now() },
		Rand: func() float64 { call(); return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		th.Throttled()
		th.ShouldThrottle()
		th.Stats()
	}
	if got := th.Stats().Total.Shed; got < 100 {
		t.Errorf("%d throttled locally, want 100 and more", got)
	}
}

// TestKeepsAnOverloadedBackendServing sends five times the capacity, with and without a throttler.
func TestKeepsAnOverloadedBackendServing(t *testing.T) {
	capacity := 200
	if testing.Short() {
		capacity = 40
	}
	without := served(t, capacity, 5*capacity, false)
	with := served(t, capacity, 5*capacity, true)
	t.Logf("served of what could be: %.3f without a throttler, %.3f with it", without, with)
	if without > 0.6 {
		t.Errorf("without a throttler %.3f of the capacity was served: the backend is not overloaded", without)
	}
	if with < 0.85 {
		t.Errorf("with a throttler %.3f of the capacity was served, want at least 0.85", with)
	}
}

// served returns the part of the capacity that was used for serving, in a minute that begins a minute into the overload.
func served(t *testing.T, capacity, load int, throttled bool) float64 {
	clock := throttletest.NewClock(time.Unix(0, 0))
	backend, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: float64(capacity), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	th, err := adaptive.New(adaptive.Config{Now: clock.Now, Rand: fixedRand(7)})
	if err != nil {
		t.Fatal(err)
	}
	before := uint64(0)
	for i := range 120 * load {
		if i == 60*load {
			before = backend.Served()
		}
		clock.Advance(time.Second / time.Duration(load))
		if throttled && th.ShouldThrottle() {
			continue
		}
		th.RegisterBackendResponse(backend.Call(t.Context()) != nil)
	}
	return float64(backend.Served()-before) / float64(60*capacity)
}

func TestWindowForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, err := adaptive.New(adaptive.Config{Rand: throttletest.Always(0)})
		if err != nil {
			t.Fatal(err)
		}
		repeat(50, th.Throttled)
		time.Sleep(30*time.Second - time.Nanosecond)
		if got := th.Stats().Window.Requests(); got != 50 {
			t.Errorf("just before Duration is over: %d requests, want 50", got)
		}
		if th.RejectionProbability() == 0 {
			t.Error("just before Duration is over: probability 0")
		}
		time.Sleep(300*time.Millisecond + time.Nanosecond)
		if got := th.Stats(); got.Window.Requests() != 0 || got.Probability != 0 || got.Total.Rejected != 50 {
			t.Errorf("after Duration and a bin: %+v, want an empty window", got)
		}
		if th.ShouldThrottle() {
			t.Error("throttles with an empty window")
		}
	})
}

func TestProbabilityFallsWhileNoCallsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th, err := adaptive.New(adaptive.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			th.Throttled()
			time.Sleep(time.Second)
		}
		last := th.RejectionProbability()
		time.Sleep(21 * time.Second)
		for range 10 {
			now := th.RejectionProbability()
			if now >= last {
				t.Fatalf("RejectionProbability() = %v a second after %v, want less", now, last)
			}
			last = now
			time.Sleep(time.Second)
		}
		if last != 0 {
			t.Errorf("RejectionProbability() = %v in the end, want 0", last)
		}
	})
}

func TestTimeMayJumpAnywhere(t *testing.T) {
	th, clock := newThrottler(t, 0)
	for _, d := range []time.Duration{1<<63 - 1, -1 << 63, 1<<63 - 1, 1<<63 - 1, -1 << 63, 1, 1 << 62} {
		clock.Advance(d)
		th.Throttled()
		if p := th.RejectionProbability(); p < 0 || p >= 1 {
			t.Fatalf("RejectionProbability() = %v after a jump of %v", p, d)
		}
		th.ShouldThrottle()
	}
	if got := th.Stats().Total.Rejected; got != 7 {
		t.Errorf("%d refusals in the totals, want 7", got)
	}
}

// TestCreatedOutsideABubbleAndUsedInside, and vice versa: the clocks of the two are years apart.
func TestCreatedOutsideABubbleAndUsedInside(t *testing.T) {
	outside, err := adaptive.New(adaptive.Config{Rand: throttletest.Always(0)})
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, th *adaptive.Throttler) {
		t.Helper()
		repeat(20, th.Throttled)
		if !th.ShouldThrottle() {
			t.Errorf("ShouldThrottle() = false after 20 refusals: %+v", th.Stats())
		}
		if p := th.RejectionProbability(); p <= 0 || p >= 1 {
			t.Errorf("RejectionProbability() = %v after 20 refusals", p)
		}
	}
	var inside *adaptive.Throttler
	check(t, outside)
	synctest.Test(t, func(t *testing.T) {
		check(t, outside)
		time.Sleep(31 * time.Second)
		check(t, outside)
		inside, err = adaptive.New(adaptive.Config{Rand: throttletest.Always(0)})
		if err != nil {
			t.Fatal(err)
		}
		check(t, inside)
	})
	check(t, outside)
	check(t, inside)
}
