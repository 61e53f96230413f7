package retry_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// retriesOf makes calls that are rejected, until a retry is denied by the budget, and returns how
// many retries it allowed.
func retriesOf(t *testing.T, r *retry.Retrier) uint64 {
	t.Helper()
	before := r.Stats()
	for r.Stats().Denied.Count(retry.ReasonBudget) == before.Denied.Count(retry.ReasonBudget) {
		_ = r.Do(t.Context(), throttle.Medium, func(context.Context) error { return rejected() })
	}
	return r.Stats().Sent - before.Sent
}

func TestBudget_IsAShareOfAcceptedFirstAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(t, retry.Config{Attempts: 2, Delay: retry.Delay{Initial: time.Microsecond}})
		want := func(what string, retries uint64) {
			t.Helper()
			if got := retriesOf(t, r); got != retries {
				t.Errorf("%s: got %d retries want %d", what, got, retries)
			}
		}
		want("at the beginning", 3) // the reserve
		accept(t, r, 50)
		want("after 50 accepted calls", 5)
		time.Sleep(time.Second)
		want("a second later", 0)
		time.Sleep(4 * time.Second)
		accept(t, r, 20)
		want("after 20 more", 2)
		time.Sleep(6 * time.Second) // the first 50, and their retries, have left the window
		want("11 seconds after the first", 3)
		time.Sleep(time.Hour)
		want("an hour later", 3)
		accept(t, r, 36_000)
		time.Sleep(time.Hour)
		want("after a quiet hour at ten calls a second", 13) // ten seconds, and the reserve
	})
}

// TestBudget_ShortWindow: the default of a reserve is at least one retry per window.
func TestBudget_ShortWindow(t *testing.T) {
	for _, window := range []time.Duration{time.Second, 1700 * time.Millisecond, 2900 * time.Millisecond, 3100 * time.Millisecond} {
		r := newRetrier(t, retry.Config{Budget: retry.Budget{Window: window}, Delay: retry.Delay{Initial: time.Microsecond}})
		if got := retriesOf(t, r); got != 1 {
			t.Errorf("Window %v: got %d retries want 1", window, got)
		}
	}
}

// TestBudget_WhileOthersCall: between two reads of Stats, other goroutines make calls and begin a slot.
func TestBudget_WhileOthersCall(t *testing.T) {
	now, others := time.Unix(0, 0), func() {}
	r := newRetrier(t, retry.Config{Attempts: 2, Delay: retry.Delay{Initial: time.Microsecond}, Now: func() time.Time {
		others()
		return now
	}})
	accept(t, r, 1000)
	now = now.Add(500 * time.Millisecond)
	others = func() {
		others = func() {}
		accept(t, r, 1)
		now = now.Add(time.Second)
		_ = r.Do(t.Context(), throttle.Medium, func(context.Context) error { return rejected() })
		now = now.Add(time.Second)
	}
	r.Stats()
	for range 120 {
		now = now.Add(100 * time.Millisecond)
		accept(t, r, 100)
		if limit := r.Stats().Limit; limit < 50 {
			t.Fatalf("after %v: got a limit of %v want a tenth of the accepted calls", now.Sub(time.Unix(0, 0)), limit)
		}
	}
}

// TestBudget_HoldsInEveryWindow plays random traffic with outages, and compares the retries of each
// window with the calls that were accepted in it.
func TestBudget_HoldsInEveryWindow(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 8
	}
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) { checkWindows(t, seed) })
	}
}

func checkWindows(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	c := retry.Config{
		Attempts: 1 + random.IntN(5), Delay: retry.Delay{Initial: time.Millisecond},
		Budget: retry.Budget{Share: 0.05 + 0.5*random.Float64(), Reserve: 2 * random.Float64(), Window: time.Duration(1+random.IntN(20)) * time.Second},
	}
	r := newRetrier(t, c)
	var accepted, retried []time.Time
	failing, gap := 0.0, time.Duration(0)
	for i := range 1000 {
		if i%100 == 0 {
			failing = []float64{0, 0.1, 0.5, 1}[random.IntN(4)]
			gap = time.Duration(random.ExpFloat64() * float64(50*time.Millisecond))
			if random.IntN(10) == 0 {
				time.Sleep(time.Duration(random.IntN(100)) * time.Second)
			}
		}
		time.Sleep(time.Duration(random.Float64() * float64(gap)))
		_ = r.Do(t.Context(), throttle.Medium, func(ctx context.Context) error {
			first := retry.FromContext(ctx).Number == 1
			if !first {
				retried = append(retried, time.Now())
			}
			if random.Float64() < failing {
				return rejected()
			}
			if first {
				accepted = append(accepted, time.Now())
			}
			return nil
		})
	}
	// Accepted calls leave the window a part of it late, and their times are estimated after a pause
	// without retries. So compare with all calls of a window that is longer.
	for _, end := range retried {
		retries := float64(within(retried, end.Add(-c.Budget.Window), end))
		limit := c.Budget.Share*float64(within(accepted, end.Add(-c.Budget.Window*11/10-time.Millisecond*20), end)) + c.Budget.Reserve*c.Budget.Window.Seconds()
		if slack := pauseBefore(retried, end, c.Budget.Window); retries > limit+1e-6 && !slack {
			t.Fatalf("seed %d, %+v: got %v retries in the window before %v want at most %v", seed, c.Budget, retries, end, limit)
		}
	}
	if s := r.Stats(); s.Sent != uint64(len(retried)) {
		t.Errorf("seed %d: counted %d retries, made %d", seed, s.Sent, len(retried))
	}
}

func within(times []time.Time, begin, end time.Time) (n int) {
	for _, at := range times {
		if at.After(begin) && !at.After(end) {
			n++
		}
	}
	return n
}

// pauseBefore reports whether a window before end has a pause in which no retry was made.
func pauseBefore(times []time.Time, end time.Time, window time.Duration) bool {
	last := end.Add(-2 * window)
	for _, at := range times {
		if at.After(end.Add(-2*window)) && !at.After(end) {
			if at.Sub(last) > window/10 {
				return true
			}
			last = at
		}
	}
	return false
}

// TestBudget_Concurrently wants the limit to hold for many goroutines that fail at once.
func TestBudget_Concurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetrier(t, retry.Config{Attempts: 10, Delay: retry.Delay{Initial: time.Microsecond, Longest: time.Microsecond}})
		accept(t, r, 1000)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range 50 {
					_ = r.Do(t.Context(), throttle.Medium, func(context.Context) error { return rejected() })
				}
			})
		}
		wg.Wait()
		s := r.Stats()
		if s.Sent != 103 || s.Left != 0 || s.Limit != 103 {
			t.Errorf("got %d retries, %v of %v left want 103", s.Sent, s.Left, s.Limit)
		}
		calls, attempts := uint64(0), uint64(0)
		for n, c := range s.Calls {
			calls += c
			attempts += uint64(n) * c
		}
		if calls != 1000+64*50 || attempts != calls+s.Sent || s.Denied.Sum() != 64*50 {
			t.Errorf("got %d calls, %d attempts, %d denials: %+v", calls, attempts, s.Denied.Sum(), s)
		}
	})
}

// TestBudget_clockBack: attempts leave the window also after the clock was set back, to a time before New even.
func TestBudget_clockBack(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	r := newRetrier(t, retry.Config{Attempts: 2, Delay: retry.Delay{Initial: time.Microsecond}, Now: func() time.Time { return now }})
	for _, step := range []time.Duration{2 * time.Hour, -time.Hour, -24 * time.Hour} {
		now = now.Add(step)
		retriesOf(t, r)
		accept(t, r, 1000)
		now = now.Add(time.Second)
		r.Stats() // reads the clock
		now = now.Add(time.Minute)
		if got := retriesOf(t, r); got != 3 {
			t.Errorf("after a step of %v: got %d retries want 3: the reserve", step, got)
		}
	}
}
