package adaptive

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// manualClock is a clock that a test advances.
type manualClock struct{ now atomic.Int64 }

func (c *manualClock) Now() time.Time          { return time.Unix(0, c.now.Load()) }
func (c *manualClock) advance(d time.Duration) { c.now.Add(int64(d)) }

func mustNew(t *testing.T, c Config) *Throttler {
	t.Helper()
	th, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// used returns the probability of the next decision.
func (t *Throttler) used() float64 {
	if !t.decisions.NeedsDecision() {
		return 0
	}
	d, _ := t.decisions.Decide(0, 0, t.elapsed())
	return d.Probability()
}

func TestDecisionsAreExactWithFewRequests(t *testing.T) {
	var clock manualClock
	th := mustNew(t, Config{Now: clock.Now})
	rng := rand.New(rand.NewPCG(1, 2))
	events := 20_000
	if testing.Short() {
		events = 4000
	}
	for i := range events {
		clock.advance(time.Duration(rng.Int64N(int64(2 * time.Second)))) // about 30 in the window
		th.RegisterBackendResponse(rng.IntN(3) > 0)
		th.ShouldThrottle()
		if s := th.Stats(); math.Abs(th.used()-s.Probability) > 1e-9 {
			t.Fatalf("event %d, %d requests: decided at %v, want exactly %v", i, s.Window.Requests(), th.used(), s.Probability)
		}
	}
}

// TestStatsRefreshDecisions wants that a bin which Stats closes is known to the next decision.
func TestStatsRefreshDecisions(t *testing.T) {
	var clock manualClock
	th := mustNew(t, Config{Now: clock.Now})
	for range 100 {
		th.Throttled()
	}
	if th.used() == 0 {
		t.Fatal("decided at 0 after 100 refusals")
	}
	for range 310 {
		clock.advance(100 * time.Millisecond)
		if exact := th.Stats().Probability; math.Abs(th.used()-exact) > 1e-9 {
			t.Fatalf("decided at %v after the window moved, want %v", th.used(), exact)
		}
	}
	if th.decisions.NeedsDecision() {
		t.Error("needsClock with an empty window")
	}
}

// TestDecisionsNoticeThatTimePassed without calls of other methods.
func TestDecisionsNoticeThatTimePassed(t *testing.T) {
	var clock manualClock
	th := mustNew(t, Config{Now: clock.Now, Rand: func() float64 { return 0.5 }})
	for range 100 {
		th.Throttled()
	}
	if !th.ShouldThrottle() {
		t.Fatal("ShouldThrottle() = false after 100 refusals")
	}
	clock.advance(31 * time.Second)
	if th.ShouldThrottle() {
		t.Error("ShouldThrottle() = true when all has been forgotten")
	}
}

// TestNoRefusalIsMissed races refusals with clearNeedsClock.
func TestNoRefusalIsMissed(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		var clock manualClock
		th := mustNew(t, Config{Now: clock.Now, Duration: time.Second, Bins: 10, Rand: func() float64 { return 0 }})
		th.Throttled()
		clock.advance(time.Minute) // it leaves the window: the next decision clears needsClock
		var wg sync.WaitGroup
		wg.Go(th.Throttled)
		wg.Go(func() { th.ShouldThrottle() })
		wg.Go(func() { th.ShouldThrottle() })
		wg.Wait()
		if !th.ShouldThrottle() {
			t.Fatalf("a refusal in the window and a draw of 0, but the call goes out: %+v", th.Stats())
		}
	}
}
