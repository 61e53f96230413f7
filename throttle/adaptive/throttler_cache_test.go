package adaptive

import (
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
	if !t.needsClock.Load() {
		return 0
	}
	t.rollWindow(t.elapsed())
	return t.probability()
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
		if s := th.Stats(); s.Window.Requests() < 64 && th.used() != s.Probability {
			t.Fatalf("event %d, %d requests: decided at %v, want exactly %v", i, s.Window.Requests(), th.used(), s.Probability)
		}
	}
}

func TestDecisionsAreAtMost16EventsOldWithManyRequests(t *testing.T) {
	var clock manualClock
	th := mustNew(t, Config{Now: clock.Now})
	rng := rand.New(rand.NewPCG(3, 4))
	latest := map[float64]uint64{} // after how many events a probability was last exact
	outdated := false
	note := func() (seen uint64, exact float64) {
		s := th.Stats()
		latest[s.Probability] = s.Total.Requests()
		return s.Total.Requests(), s.Probability
	}
	events := 50_000
	if testing.Short() {
		events = 10_000
	}
	for i := range events {
		clock.advance(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
		th.RegisterBackendResponse(rng.IntN(5) < 5*i/events)
		note()
		th.ShouldThrottle()
		seen, exact := note()
		used := th.used()
		if age := seen - latest[used]; age > 16 {
			t.Fatalf("event %d: decided at %v, which was exact %d events ago, want at most 16", seen, used, age)
		}
		outdated = outdated || used != exact
	}
	if !outdated {
		t.Error("every decision was exact: is the probability kept at all?")
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
		if exact := th.Stats().Probability; th.used() != exact {
			t.Fatalf("decided at %v after the window moved, want %v", th.used(), exact)
		}
	}
	if th.needsClock.Load() {
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

// TestClearNeedsClockNoticesARefusal that comes between the sum and the clearing.
func TestClearNeedsClockNoticesARefusal(t *testing.T) {
	th := mustNew(t, Config{})
	th.needsClock.Store(true)
	_, total := th.sum()
	th.Throttled()
	th.clearNeedsClock(total)
	if !th.needsClock.Load() {
		t.Error("needsClock is false after a refusal")
	}
	_, total = th.sum()
	th.Accepted()
	th.clearNeedsClock(total)
	if th.needsClock.Load() {
		t.Error("needsClock is true without a new refusal")
	}
}

// TestDecisionsDoNotWait makes a decision while another goroutine refreshes the probability.
func TestDecisionsDoNotWait(t *testing.T) {
	th := mustNew(t, Config{})
	th.Throttled()
	th.cached.refreshing.Lock()
	before := th.used() // hangs if it waits for the lock
	th.cached.refreshing.Unlock()
	if after := th.used(); before != 0 || after == 0 {
		t.Errorf("probability: got %v during the refresh and %v after it, want 0 and more", before, after)
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
