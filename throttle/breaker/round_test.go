package breaker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRecordsThatSayNothingGo looks for records in the store after their past is of no account any
// more. No agent takes that for a loss, although it refreshes seldom.
func TestRecordsThatSayNothingGo(t *testing.T) {
	seldom := breaker.Config{Retention: 10 * time.Minute, Refresh: 20 * time.Second}
	for _, tt := range []struct {
		name string
		c    breaker.Config
		past func(t *testing.T, all []*breaker.Manager, f *traffic, k breaker.Key)
	}{
		{"enabled, after the window", breaker.Config{}, func(t *testing.T, all []*breaker.Manager, _ *traffic, k breaker.Key) {
			must(t, all[0].Disable(t.Context(), k), all[0].Enable(t.Context(), k))
			time.Sleep(66 * time.Second)
		}},
		{"well for long enough", breaker.Config{}, func(t *testing.T, all []*breaker.Manager, f *traffic, k breaker.Key) {
			f.during(t.Context(), 11*time.Second, 20, k, 1, all...)
			f.during(t.Context(), 6*time.Minute, 20, k, 0, all...)
		}},
		{"open, and never called again", seldom, func(t *testing.T, all []*breaker.Manager, f *traffic, k breaker.Key) {
			f.during(t.Context(), 30*time.Second, 20, k, 1, all...)
			time.Sleep(9 * time.Minute)
			if s := all[0].Status(k); s.State != breaker.HalfOpen || s.Trips != 1 {
				t.Errorf("got state %v with %d trips before Retention is over, want half_open with 1", s.State, s.Trips)
			}
			time.Sleep(5 * time.Minute)
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			store, k, f := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, newTraffic(1)
			tt.c.Store, tt.c.Poll = store, f.poll
			all := agents(t, 3, tt.c)
			running(t, all...)
			time.Sleep(time.Second)
			tt.past(t, all, f, k)
			time.Sleep(tt.c.Refresh)
			for i, m := range all {
				if n, lost := len(stored(t, store, k)), m.Stats().Errors.Of(breaker.RecordsLost); n != 0 || len(m.List()) != 0 || lost != 0 {
					t.Errorf("agent %d: got %d records, %v known and %d losses reported, want none", i, n, m.List(), lost)
				}
			}
		})
	}
}

// TestPollsAskForWhatMatters reads the query. It wants the failures that open an unknown circuit.
// Of a known circuit it wants the calls since the last change, but none from before the window,
// however long ago the change was.
func TestPollsAskForWhatMatters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got breaker.PollQuery
		poll := func(_ context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			got = q
			return nil, nil
		}
		m, k := agent(t, breaker.Config{Poll: poll, MinimumRequestCount: 20, FailureThreshold: 50}), breaker.Key{ID: "a"}
		for wait, since := range map[time.Duration]time.Duration{0: 0, 20 * time.Second: 20 * time.Second, 6 * time.Hour: time.Minute} {
			must(t, m.Enable(t.Context(), k), m.Disable(t.Context(), k))
			time.Sleep(wait)
			sample(t, m)
			if got.Window != time.Minute || got.MinFailures != 10 || len(got.Since) != 1 || got.Since[k] != since {
				t.Errorf("%v after the change: got %+v, want a window of 1 min, 10 failures at least, and one circuit since %v", wait, got, since)
			}
		}
	})
}

// TestPollsDoNotPileUp has polls that heed no context and last for long.
func TestPollsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, most atomic.Int64
		poll := polls(func() results {
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(47 * time.Second)
			inside.Add(-1)
			return results{}
		})
		stop := running(t, agent(t, breaker.Config{Poll: poll}))
		time.Sleep(10 * time.Minute)
		stop()
		equals(t, most.Load(), 1, "polls at once")
		time.Sleep(time.Minute)
	})
}

// TestAPollFromBeforeAChangeCountsForNothing enables a circuit while the leader's poll is under way, whose answer is about the time
// before.
func TestAPollFromBeforeAChangeCountsForNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*breaker.Manager, context.Context, breaker.Key) error
	}{
		{"enabled", (*breaker.Manager).Enable},
		{"forced closed and enabled", func(m *breaker.Manager, ctx context.Context, k breaker.Key) error {
			return errors.Join(m.ForceClose(ctx, k), m.Enable(ctx, k))
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) { pollAcross(t, tt.change) })
	}
}

func pollAcross(t *testing.T, change func(*breaker.Manager, context.Context, breaker.Key) error) {
	store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
	during := func() {}
	poll := polls(func() results { during(); return results{k: {Failures: 100}} })
	c := breaker.Config{Store: store, Poll: poll, ConsecutiveFailureThreshold: 1}
	leader, other := agent(t, c), agent(t, c)
	sample(t, leader)
	equals(t, leader.Status(k).State, breaker.Disabled, "after 100 failures")
	during = func() {
		time.Sleep(time.Second)
		if err := errors.Join(change(other, t.Context(), k), leader.Refresh(t.Context())); err != nil {
			t.Error(err)
		}
	}
	sample(t, leader)
	equals(t, leader.Status(k).State, breaker.Closed, "with calls from before the change")
}

// TestCountsThatAreNone polls nonsense of one circuit, and sense of another: the first stays as it is, the second does not suffer.
func TestCountsThatAreNone(t *testing.T) {
	nonsense, counts := breaker.Key{ID: "nonsense"}, results{}
	m := agent(t, breaker.Config{Poll: polls(func() results { return counts })})
	zero := 0.0
	for i, bad := range []breaker.PollResult{
		{Failures: zero / zero}, {Failures: 1 / zero}, {Failures: -1}, {Failures: 20, Successes: -1}, {Failures: 20, Successes: zero / zero}, {Failures: 1e308, Successes: 1e308},
	} {
		sense := breaker.Key{ID: string(rune('a' + i))}
		counts[nonsense], counts[sense] = bad, breaker.PollResult{Failures: 20}
		sample(t, m)
		equals(t, m.Status(nonsense).State, breaker.Closed, "%+v", bad)
		equals(t, m.Status(sense).State, breaker.Open, "beside %+v", bad)
		equals(t, m.Stats().Errors.Of(breaker.CountsInvalid), uint64(i+1), "%v: reported", bad)
	}
}

// TestOneReporterDecidesNothing, neither about a closed circuit nor about a half-open one.
func TestOneReporterDecidesNothing(t *testing.T) {
	k := breaker.Key{ID: "a"}
	failing := func(reporters int) results { return results{k: {Failures: 30, Reporters: reporters}} }
	play(t, scenario{
		name: "three wanted", poll: failing(1), config: breaker.Config{MinReporters: 3, ConsecutiveFailureThreshold: 2},
		steps: steps(sampled, is(breaker.Closed, 0, k), counted(failing(3)), sampled, is(breaker.Open, 1, k), counted(failing(1)),
			times(100, wait(10*time.Second), sampled), is(breaker.HalfOpen, 1, k), counted(failing(3)), sampled, is(breaker.Disabled, 2, k)),
	})
}

// TestTheStoresClockIsSetBack by an hour: no call is shed and no failure missed meanwhile.
func TestTheStoresClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &offClock{Store: breaker.NewMemoryStore()}
		n := breaker.PollResult{Failures: 20}
		m := agent(t, breaker.Config{Store: store, Poll: polls(func() results { return results{{ID: "a"}: n} })})
		sample(t, m)
		store.by = -time.Hour
		n = breaker.PollResult{Successes: 20}
		for range 8 {
			time.Sleep(5 * time.Second)
			sample(t, m)
		}
		equals(t, m.Status(breaker.Key{ID: "a"}).State, breaker.Closed, "an hour back")
	})
}

// TestShadowLeavesNothingBehind: ModeEnforce ignores circuits that opened in ModeShadow.
func TestShadowLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := breaker.Config{Store: breaker.NewMemoryStore(), Mode: throttle.ModeShadow, ConsecutiveFailureThreshold: 1, Poll: polled(breaker.PollResult{Failures: 20})}
		k := breaker.Key{ID: "a"}
		dry := agent(t, c)
		sample(t, dry)
		equals(t, dry.Status(k).State, breaker.Disabled, "in shadow")
		must(t, dry.Disable(t.Context(), breaker.Key{ID: "by hand"}))
		time.Sleep(time.Minute)
		c.Mode, c.Poll = throttle.ModeEnforce, polled(breaker.PollResult{Successes: 20})
		m := agent(t, c)
		for range 2 {
			must(t, m.Refresh(t.Context()))
			wants(t, m.CanExecute(t.Context(), k), nil, "what opened in shadow")
			wants(t, m.CanExecute(t.Context(), breaker.Key{ID: "by hand"}), breaker.ErrDisabled, "disabled by hand")
			sample(t, m)
		}
		if s := m.Status(k); s.State != breaker.Closed || s.Trips != 0 {
			t.Errorf("got %+v, want closed and no trips", s)
		}
	})
}
