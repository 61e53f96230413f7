package adaptive

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hand is a clock that a test sets by hand.
type hand struct{ now atomic.Int64 }

func (h *hand) Now() time.Time          { return time.Unix(0, h.now.Load()) }
func (h *hand) advance(d time.Duration) { h.now.Add(int64(d)) }

func mustNew(t *testing.T, c Config) *Throttler {
	t.Helper()
	th, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// used returns the probability that the next decision would be taken at.
func (t *Throttler) used() float64 {
	if !t.watched.Load() {
		return 0
	}
	t.keepUp(t.elapsed())
	return t.recentProbability()
}

func TestDecisionsAreExactWithFewRequests(t *testing.T) {
	var clock hand
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
	var clock hand
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

// TestStatsHideNoBin: whoever looks at the numbers closes bins, and decisions must hear of it.
func TestStatsHideNoBin(t *testing.T) {
	var clock hand
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
	if th.watched.Load() {
		t.Error("still watched with an empty window")
	}
}

// TestDecisionsNoticeThatTimePassed on their own, with nobody else looking.
func TestDecisionsNoticeThatTimePassed(t *testing.T) {
	var clock hand
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

// TestRelaxNoticesARefusal that comes between the look at the window and the end of watching.
func TestRelaxNoticesARefusal(t *testing.T) {
	th := mustNew(t, Config{})
	th.watched.Store(true)
	_, ever := th.sum()
	th.Throttled()
	th.relax(ever)
	if !th.watched.Load() {
		t.Error("not watched after a refusal")
	}
	_, ever = th.sum()
	th.Accepted()
	th.relax(ever)
	if th.watched.Load() {
		t.Error("watched without a new refusal")
	}
}

// TestDecisionsDoNotWait takes a decision while another goroutine brings the probability up to date.
func TestDecisionsDoNotWait(t *testing.T) {
	th := mustNew(t, Config{})
	th.Throttled()
	th.odds.looking.Lock()
	before := th.used() // hangs if it waits for the lock
	th.odds.looking.Unlock()
	if after := th.used(); before != 0 || after == 0 {
		t.Errorf("probability: got %v during the update and %v after it, want 0 and more", before, after)
	}
}

// TestNoRefusalIsMissed races refusals with a throttler that is about to stop watching for them.
func TestNoRefusalIsMissed(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		var clock hand
		th := mustNew(t, Config{Now: clock.Now, Duration: time.Second, Bins: 10, Rand: func() float64 { return 0 }})
		th.Throttled()
		clock.advance(time.Minute) // it is forgotten: the next decision stops watching
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
