package breaker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestWithoutRun has managers with a memory store, whose calls drive the rounds.
func TestWithoutRun(t *testing.T) {
	k := breaker.Key{ID: "k"}
	var ids []string
	notify := func(_ context.Context, e breaker.Event) error {
		if ids = append(ids, e.ID()); len(ids) < 3 {
			return errBoom
		}
		return nil
	}
	round := wait(5*time.Second + 1)
	play(t, scenario{
		name: "a circuit opens and closes", memory: true,
		steps: steps(shows("is running without Run", func(s breaker.Stats) bool { return !s.NotRunning && !s.Running }),
			fail(10, k), round, sheds(breaker.ErrOpen, k), shows("leads, fresh and without errors", func(s breaker.Stats) bool {
				return s.Leads && s.SnapshotAge == 0 && s.Errors == breaker.ErrorCounts{}
			}), wait(30*time.Second), times(10, func(s *scene) {
				wants(s, s.actor().Circuit(k).Do(s.Context(), succeeding), nil, "a probe after BreakerTimeout")
			}), sheds(breaker.ErrTooManyRequests, k), round, is(breaker.Closed, 1, k)),
	}, scenario{
		name: "one of the managers of a process leads", memory: true, agents: 3,
		steps: steps(times(60, by(0, fail(1, k)), by(1, fail(1, k)), by(2, fail(1, k)), wait(time.Second)), func(s *scene) {
			if slices.ContainsFunc(s.all, func(m *breaker.Manager) bool { return m.Status(k).State == breaker.Closed }) {
				s.Error("got a closed circuit of a manager, want none")
			}
			if n := len(slices.DeleteFunc(slices.Clone(s.all), func(m *breaker.Manager) bool { return !m.Stats().Leads })); n != 1 {
				s.Errorf("got %d leaders, want 1", n)
			}
		}),
	}, scenario{
		name: "FailClosed waits for the first reading", memory: true, config: breaker.Config{OnStale: breaker.FailClosed},
		steps: steps(sheds(breaker.ErrStale, k), wait(time.Millisecond), sheds(nil, k),
			wait(time.Hour) /* longer than MaxStale, without calls */, sheds(nil, k)),
	}, scenario{
		name: "a notification is repeated", memory: true, config: breaker.Config{Notify: notify},
		steps: steps(fail(10, k), wait(time.Minute+1), func(s *scene) {
			if len(ids) != 3 || ids[0] != ids[2] {
				s.Errorf("got notifications %q, want one event three times", ids)
			}
		}),
	}, scenario{ // the circuit opens, although no other call is made
		name: "late failures", memory: true,
		steps: steps(func(s *scene) {
			var calls sync.WaitGroup
			for range 10 {
				calls.Go(func() {
					_ = s.actor().Circuit(k).Do(s.Context(), func(context.Context) error { time.Sleep(time.Minute); return errBoom })
				})
			}
			calls.Wait()
		}, round, is(breaker.Open, 1, k)),
	}, scenario{
		name: "failed rounds", memory: true, poll: results{},
		steps: steps(counted(nil), wait(12*time.Second), counted(results{k: {Failures: 20}}), round, is(breaker.Open, 1, k)),
	}, scenario{
		name: "Run that has ended", memory: true,
		steps: steps(wait(3*time.Second), runs, wait(time.Minute), stopped, fail(10, k), round, is(breaker.Open, 1, k)),
	}, scenario{
		name: "Tune", memory: true, config: breaker.Config{Mode: throttle.ModeOff},
		steps: steps(func(s *scene) { must(s, s.actor().Tune(breaker.Patch{Mode: new(throttle.ModeEnforce)})) }, fail(10, k), round, is(breaker.Open, 1, k)),
	})
}

// TestWithoutCallsThereAreNoRounds counts the polls of a manager that is called once in a minute, or all the time.
func TestWithoutCallsThereAreNoRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var count atomic.Int64
		m := agent(t, breaker.Config{Poll: polls(func() results { count.Add(1); return results{} })})
		defer m.Close()
		want := func(what string, n int64) {
			t.Helper()
			synctest.Wait()
			equals(t, count.Swap(0), n, "%s: polls", what)
		}
		time.Sleep(time.Hour)
		want("after New", 1)
		for range 3 {
			_ = m.CanExecute(t.Context(), breaker.Key{ID: "k"})
			time.Sleep(time.Minute)
		}
		want("a call per minute", 3)
		for range 600 {
			_ = m.CanExecute(t.Context(), breaker.Key{ID: "k"})
			time.Sleep(100 * time.Millisecond)
		}
		_ = m.Close()
		synctest.Wait()
		if got := count.Swap(0); got < 11 || got > 13 {
			t.Errorf("ten calls per second for a minute: got %d polls, want about 12", got)
		}
		_ = m.CanExecute(t.Context(), breaker.Key{ID: "k"})
		time.Sleep(time.Minute)
		want("after Close", 0)
	})
}

func TestWithoutRunManyCallers(t *testing.T) {
	m := agent(t, breaker.Config{SampleRate: time.Millisecond, BreakerTimeout: 2 * time.Millisecond, StoreTimeout: time.Minute})
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := range 2000 {
				k := breaker.Key{ID: fmt.Sprint(n % 4)}
				if i%2 == 0 {
					_ = m.CanExecute(t.Context(), k)
				} else {
					_ = m.Circuit(k).Do(t.Context(), failing)
				}
			}
		})
	}
	callers.Wait()
	eventually(t, 10*time.Second, "a circuit opens", func() bool {
		fails(t, m, breaker.Key{ID: "0"}, 20)
		return m.Status(breaker.Key{ID: "0"}).State != breaker.Closed
	})
	must(t, m.Close())
}

// TestNotRunningIsReportedOnce of a manager on a shared store.
func TestNotRunningIsReportedOnce(t *testing.T) {
	k := breaker.Key{ID: "k"}
	for _, tt := range []struct {
		name  string
		mode  throttle.Mode
		drive step
		want  uint64
	}{
		{"never run", throttle.ModeEnforce, wait(0), 1},
		{"never run, in shadow", throttle.ModeShadow, wait(0), 1},
		{"off", throttle.ModeOff, wait(0), 0},
		{"run", throttle.ModeEnforce, times(1, runs, stopped), 0},
		{"sampled", throttle.ModeEnforce, sampled, 0},
		{"refreshed", throttle.ModeEnforce, refreshed, 0},
		{"closed", throttle.ModeEnforce, func(s *scene) { must(s, s.actor().Close()) }, 0},
		{"tuned all the time", throttle.ModeOff, func(s *scene) {
			for i := range 60 {
				time.AfterFunc(time.Duration(i)*time.Second, func() { must(s, s.actor().Tune(breaker.Patch{Mode: new(throttle.ModeShadow)})) })
			}
		}, 1},
	} {
		second := times(1, sheds(nil, k), wait(time.Second))
		play(t, scenario{
			name: tt.name, config: breaker.Config{Mode: tt.mode},
			steps: steps(times(6, second), tt.drive, times(3, second), reported(0, breaker.NotRunning), times(50, second),
				reported(tt.want, breaker.NotRunning), shows("does not run", func(s breaker.Stats) bool { return s.NotRunning })),
		})
	}
}

// TestWithoutRun_noMoreRoundsThanOne in each SampleRate, while calls go on and rounds or notifications fail.
func TestWithoutRun_noMoreRoundsThanOne(t *testing.T) {
	for name, tt := range map[string]struct {
		counts results // nil is a failed poll
		notify func(context.Context, breaker.Event) error
	}{
		"the poll fails": {},
		"Notify fails":   {results{{ID: "a"}: {Failures: 20}}, func(context.Context, breaker.Event) error { return errBoom }},
	} {
		bubble(t, name, func(t *testing.T) {
			var count atomic.Int64
			m := agent(t, breaker.Config{Notify: tt.notify, Poll: polls(func() results { count.Add(1); return tt.counts })})
			defer m.Close()
			for range 5000 {
				_ = m.CanExecute(t.Context(), breaker.Key{ID: "k"})
				time.Sleep(20 * time.Millisecond)
			}
			if got := count.Load(); got < 18 || got > 21 {
				t.Errorf("got %d polls in 100 s, want about 20, one in each SampleRate", got)
			}
		})
	}
}
