package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// errBusy is the answer of a backend that is out of capacity, errPlain that of one that works.
var (
	errBusy  = faults.Unavailable(0)
	errPlain = errors.New("no such product")
)

// unlucky draws shed whatever may be shed, lucky ones let everything through: the two ends of Config.Rand.
func unlucky() float64 { return 0 }
func lucky() float64   { return math.Nextafter(1, 0) }

// build returns a throttle. It needs no name of its own.
func build(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	if c.Name == "" {
		c.Name = "backend"
	}
	th, err := throttle.New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c, err)
	}
	return th
}

// shedding returns a throttle that sheds every call of High priority, because the backend has rejected some and the draws
// are unlucky.
func shedding(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Rand = unlucky
	th := build(t, c)
	overload(t, th, throttle.High)
	return th
}

// overload makes calls that the backend rejects until the throttle sheds one, which takes unlucky draws.
func overload(t testing.TB, th *throttle.Throttle, p throttle.Priority) {
	t.Helper()
	for range 1000 {
		if err := th.Do(context.Background(), p, returns(errBusy)); errors.Is(err, throttle.ErrShed) {
			return
		}
	}
	t.Fatalf("got no call of %v priority shed after 1000 rejections, want one", p)
}

// times makes n calls that end with err.
func times(n int, th *throttle.Throttle, p throttle.Priority, err error) {
	for range n {
		_ = th.Do(context.Background(), p, returns(err))
	}
}

// returns is a function that does nothing but return err.
func returns(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// unwanted is a function that must not run.
func unwanted(t testing.TB) func(context.Context) error {
	return func(context.Context) error {
		t.Helper()
		t.Error("got the function called, want it left alone")
		return nil
	}
}

// unwantedFallback is a fallback that must not run.
func unwantedFallback(t testing.TB) throttle.Fallback {
	return func(_ context.Context, err error, local bool) error {
		t.Helper()
		t.Errorf("got the fallback called with (%v, %v), want it left alone", err, local)
		return nil
	}
}

// equal fails the test if got is not want.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

// tier is what the throttle knows of one priority.
func tier(th *throttle.Throttle, p throttle.Priority) throttle.PriorityStats {
	return th.Stats().Priorities[p]
}

// inFlight is how many calls of any priority are admitted and not ended.
func inFlight(th *throttle.Throttle) int64 {
	var n int64
	for _, p := range th.Stats().Priorities {
		n += p.InFlight
	}
	return n
}

// wantAdmitted fails the test if the calls of priority p that ended are not n of this outcome and fault, and no others.
func wantAdmitted(t testing.TB, th *throttle.Throttle, p throttle.Priority, n uint64, o throttle.Outcome, f throttle.Fault) {
	t.Helper()
	var want throttle.Totals
	want[o][f] = n
	if got := tier(th, p).Ended; got != want {
		t.Errorf("admitted calls of %v priority: got %s want %s", p, describe(got), describe(want))
	}
}

// describe lists the totals that are not zero.
func describe(totals throttle.Totals) string {
	var words []string
	for o := range totals {
		for f, n := range totals[o] {
			if n > 0 {
				words = append(words, fmt.Sprintf("%d %v/%v", n, throttle.Outcome(o), throttle.Fault(f)))
			}
		}
	}
	return fmt.Sprint(words)
}

// wantUsable fails the test unless the throttle is idle and still makes calls.
func wantUsable(t testing.TB, th *throttle.Throttle) {
	t.Helper()
	equal(t, "calls in flight", inFlight(th), 0)
	ran := false
	err := th.Do(throttle.WithPriority(context.Background(), throttle.Low), throttle.Low, func(context.Context) error {
		ran = true
		return nil
	})
	if err != nil || !ran {
		t.Errorf("the next call: got error %v and ran %v, want nil and true", err, ran)
	}
}

// witness notes what the hooks are told.
type witness struct {
	mu       sync.Mutex
	moments  []string
	finished []throttle.FinishEvent
	fellBack []throttle.FallbackEvent
}

func (w *witness) note(moment string) {
	w.mu.Lock()
	w.moments = append(w.moments, moment)
	w.mu.Unlock()
}

// hooks returns hooks that tell the witness.
func (w *witness) hooks() throttle.Hooks {
	return throttle.Hooks{
		Shed: func(context.Context, throttle.ShedEvent) { w.note("shed") },
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			w.note("started")
			return ctx
		},
		Finished: func(_ context.Context, e throttle.FinishEvent) {
			w.note("finished")
			w.finished = append(w.finished, e)
		},
		FellBack: func(_ context.Context, e throttle.FallbackEvent) {
			w.note("fell back")
			w.fellBack = append(w.fellBack, e)
		},
	}
}

// forget makes the witness begin anew.
func (w *witness) forget() { w.moments, w.finished, w.fellBack = nil, nil, nil }

// want fails the test if the hooks were told other things.
func (w *witness) want(t testing.TB, moments ...string) {
	t.Helper()
	if !slices.Equal(w.moments, moments) {
		t.Errorf("hooks: got %q want %q", w.moments, moments)
	}
}

// server is a backend that serves so many calls per second, and rejects the others. The zero server is down.
type server struct {
	perSecond int
	room      float64 // for calls, now
	filled    time.Time

	sent, accepted int // calls that arrived, and those that were served
}

func (s *server) serve(context.Context) error {
	now, rate := time.Now(), float64(s.perSecond)
	s.room = min(s.room+rate*now.Sub(s.filled).Seconds(), rate)
	s.filled = now
	s.sent++
	if s.room < 1 {
		return errBusy
	}
	s.room--
	s.accepted++
	return nil
}

// traffic sends perSecond calls of each priority to the server for so long, evenly and in any order, and returns how many
// of each were served. It belongs into a synctest bubble.
func traffic(th *throttle.Throttle, s *server, perSecond int, d time.Duration, priorities ...throttle.Priority) map[throttle.Priority]int {
	good := map[throttle.Priority]int{}
	dice := rand.New(rand.NewPCG(3, 4))
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second / time.Duration(perSecond)) {
		for _, i := range dice.Perm(len(priorities)) {
			if th.Do(context.Background(), priorities[i], s.serve) == nil {
				good[priorities[i]]++
			}
		}
	}
	return good
}
