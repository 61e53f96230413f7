package breaker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRecordsThatSayNothingGo looks for records in the store after their past is of no account any more.
func TestRecordsThatSayNothingGo(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    breaker.Config
		past func(t *testing.T, m *breaker.Manager, f *traffic, k breaker.Key)
	}{
		{"enabled, after the window", breaker.Config{}, func(t *testing.T, m *breaker.Manager, _ *traffic, k breaker.Key) {
			if err := errors.Join(m.Disable(t.Context(), k), m.Enable(t.Context(), k)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(66 * time.Second)
		}},
		{"well for long enough", breaker.Config{}, func(t *testing.T, m *breaker.Manager, f *traffic, k breaker.Key) {
			f.during(t.Context(), 11*time.Second, 20, k, 1, m)
			f.during(t.Context(), 6*time.Minute, 20, k, 0, m)
		}},
		{"open, and never called again", breaker.Config{Retention: 10 * time.Minute}, func(t *testing.T, m *breaker.Manager, f *traffic, k breaker.Key) {
			f.during(t.Context(), 11*time.Second, 20, k, 1, m)
			time.Sleep(9 * time.Minute)
			if s := m.Status(k); s.State != breaker.HalfOpen || s.Trips != 1 {
				t.Errorf("got state %v with %d trips before Retention is over, want half_open with 1", s.State, s.Trips)
			}
			time.Sleep(3 * time.Minute)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, k, f := breaker.NewMemoryStore(), breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
				tt.c.Store, tt.c.Poll = store, f.poll
				m := agent(t, tt.c)
				running(t, m)
				time.Sleep(time.Second)
				tt.past(t, m, f, k)
				loaded, err := store.Load(t.Context(), []int{k.RecordID().Shard()})
				if err != nil || len(loaded[0].Records) != 0 || len(m.List()) != 0 {
					t.Errorf("got %d records and %v known, error %v, want none", len(loaded[0].Records), m.List(), err)
				}
			})
		})
	}
}

// TestPollsDoNotPileUp has polls that heed no context and last for long.
func TestPollsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, most atomic.Int64
		poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(47 * time.Second)
			inside.Add(-1)
			return nil, nil
		}
		stop := running(t, agent(t, breaker.Config{Poll: poll}))
		time.Sleep(10 * time.Minute)
		stop()
		if n := most.Load(); n != 1 {
			t.Errorf("got %d polls at once, want 1", n)
		}
		time.Sleep(time.Minute)
	})
}

// TestRoundsByHandGrowStale makes rounds by hand without a store.
func TestRoundsByHandGrowStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault failure
		store, k, ctx := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, t.Context()
		store.before = only(func(ctx context.Context) error { return fault.meddle(ctx, "") }, "Versions")
		m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		if err := m.Disable(ctx, k); err != nil {
			t.Fatal(err)
		}
		fault.set(errNetwork)
		for _, stale := range []bool{false, true} {
			if err := m.Sample(ctx); !errors.Is(err, errNetwork) {
				t.Errorf("got %v from a round without a store, want its error", err)
			}
			if err := m.CanExecute(ctx, k); (err == nil) != stale || m.Stats().Stale != stale {
				t.Errorf("got %v and stale %v, want stale %v", err, m.Stats().Stale, stale)
			}
			time.Sleep(2 * time.Minute)
		}
		fault.err.Store(nil)
		sample(t, m)
		if err := m.CanExecute(ctx, k); !errors.Is(err, breaker.ErrDisabled) {
			t.Errorf("got %v when the store is back, want ErrDisabled", err)
		}
	})
}

// TestTripsAreForgottenSilently leaves a closed circuit with a trip without calls: its trip goes, and nobody is told of a change, for there is none.
func TestTripsAreForgottenSilently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, k := newEars(), breaker.Key{ID: "a"}
		m, _ := tripped(t, k, breaker.Config{Retention: 10 * time.Minute, Notify: n.notify, Hooks: breaker.Hooks{Changed: n.change}})
		time.Sleep(20 * time.Minute)
		n.check(t, 1)
		if len(n.changed) != 3 || len(m.List()) != 0 {
			t.Errorf("got %d changes and %v known, want 3, to open, half-open and closed, and nothing", len(n.changed), m.List())
		}
	})
}

// TestPollsAskForWhatMatters reads the query. It wants the failures that open an unknown circuit. Of a known circuit it wants the calls since the
// last change, but none from before the window, however long ago the change was.
func TestPollsAskForWhatMatters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got breaker.PollQuery
		poll := func(_ context.Context, q breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			got = q
			return nil, nil
		}
		m, k := agent(t, breaker.Config{Poll: poll, MinimumRequestCount: 20, FailureThreshold: 50}), breaker.Key{ID: "a"}
		for wait, since := range map[time.Duration]time.Duration{0: 0, 20 * time.Second: 20 * time.Second, 6 * time.Hour: time.Minute} {
			if err := errors.Join(m.Enable(t.Context(), k), m.Disable(t.Context(), k)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			sample(t, m)
			if got.Window != time.Minute || got.MinFailures != 10 || len(got.Since) != 1 || got.Since[k] != since {
				t.Errorf("%v after the change: got %+v, want a window of 1 min, 10 failures at least, and one circuit since %v", wait, got, since)
			}
		}
	})
}
