package adaptive_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

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

// TestEventsLeaveAfterDurationAndAtMostOneBin follows single events through windows of many shapes, looked at
// as rarely or often as it comes.
func TestEventsLeaveAfterDurationAndAtMostOneBin(t *testing.T) {
	shapes := []adaptive.Config{
		{Duration: 30 * time.Second, Bins: 100},
		{Duration: time.Second, Bins: 10},
		{Duration: time.Second, Bins: 11}, // does not divide
		{Duration: 10 * time.Second, Bins: 13},
		{Duration: time.Second, Bins: 1000},
		{Duration: time.Hour, Bins: 10},
	}
	for _, c := range shapes {
		bin := c.Duration / time.Duration(c.Bins)
		polls := []time.Duration{bin / 7, bin - 1, bin, bin + 1, 3*bin/2 + 7, c.Duration / 5, c.Duration - 1, c.Duration + bin + 1}
		for _, poll := range polls {
			t.Run(fmt.Sprintf("%v in %d every %v", c.Duration, c.Bins, poll), func(t *testing.T) {
				follow(t, c, bin, poll)
			})
		}
	}
}

func follow(t *testing.T, c adaptive.Config, bin, poll time.Duration) {
	clock := throttletest.NewClock(time.Unix(0, 0))
	c.Now = clock.Now
	th, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for event := range 5 {
		th.Throttled()
		born := clock.Now()
		for {
			clock.Advance(poll)
			age := clock.Now().Sub(born)
			in := th.Stats().Window.Rejected > 0
			if !in && age < c.Duration-time.Duration(c.Bins) { // bins are whole nanoseconds
				t.Fatalf("event %d left after %v", event, age)
			}
			if in && age > c.Duration+bin {
				t.Fatalf("event %d is still there after %v", event, age)
			}
			if !in {
				break
			}
		}
		clock.Advance(bin/3 + time.Duration(event)) // elsewhere on the grid
	}
}

// TestWindowAgreesWithAList compares the window with a list of all events, on the grid of bins.
func TestWindowAgreesWithAList(t *testing.T) {
	const bins, bin = 100, 300 * time.Millisecond
	for _, period := range []time.Duration{bin / 30, bin - time.Millisecond, bin + time.Millisecond, 10 * bin, 97 * bin} {
		th, clock := newThrottler(t, 1)
		start := clock.Now()
		var events []time.Duration
		for range 2000 {
			now := clock.Now().Sub(start)
			want := uint64(0)
			for _, at := range events {
				if now/bin-at/bin <= bins {
					want++
				}
			}
			if got := th.Stats().Window.Requests(); got != want {
				t.Fatalf("every %v, at %v: %d requests in the window, want %d", period, now, got, want)
			}
			th.RegisterBackendResponse(len(events)%3 == 0)
			events = append(events, now)
			clock.Advance(period)
		}
	}
}

func TestTimeRunningBackwardsIsIgnored(t *testing.T) {
	th, clock := newThrottler(t, 0)
	clock.Advance(time.Hour)
	repeat(20, th.Throttled)
	want := th.Stats()
	for _, back := range []time.Duration{time.Second, time.Hour, 1000 * time.Hour} {
		clock.Advance(-back)
		if got := th.Stats(); got != want {
			t.Errorf("Stats() = %+v after %v back, want %+v", got, back, want)
		}
		if !th.ShouldThrottle() {
			t.Errorf("ShouldThrottle() = false after %v back", back)
		}
		want = th.Stats()
	}
	clock.Advance(1001*time.Hour + 32*time.Second)
	if got := th.Stats().Window; got != (adaptive.Counts{}) {
		t.Errorf("Window = %+v when time has caught up, want none", got)
	}
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

// TestMadeOutsideABubbleAndUsedInside, and the other way round: the clocks of the two are years apart.
func TestMadeOutsideABubbleAndUsedInside(t *testing.T) {
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
