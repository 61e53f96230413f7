package breaker_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// TestWithoutRunACircuitOpensAndCloses on the manager's own store, and on one that several managers of the process share.
func TestWithoutRunACircuitOpensAndCloses(t *testing.T) {
	for name, s := range map[string]store.Store{"own store": nil, "given store": breaker.NewMemoryStore()} {
		bubble(t, name, func(t *testing.T) {
			m, k := agent(t, breaker.Config{Store: s}), breaker.Key{ID: "k"}
			defer m.Close()
			if s := m.Stats(); s.NotRunning || s.Running {
				t.Errorf("got NotRunning %v, Running %v, want false", s.NotRunning, s.Running)
			}
			fails(t, m, k, 10)
			time.Sleep(5*time.Second + 1)
			wants(t, m.CanExecute(t.Context(), k), breaker.ErrOpen, "after one SampleRate")
			if s := m.Stats(); !s.Leads || s.SnapshotAge != 0 || s.Errors != (breaker.ErrorCounts{}) {
				t.Errorf("got leads %v, age %v, errors %v, want true, 0 and none", s.Leads, s.SnapshotAge, s.Errors)
			}
			time.Sleep(30 * time.Second)
			for i := range 10 {
				wants(t, m.Circuit(k).Do(t.Context(), succeeding), nil, "probe %d after BreakerTimeout", i)
			}
			wants(t, m.CanExecute(t.Context(), k), breaker.ErrTooManyRequests, "beyond the budget of probes")
			time.Sleep(5*time.Second + 1)
			wantState(t, m, k, breaker.Closed, "after the probes")
		})
	}
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
			if got := count.Swap(0); got != n {
				t.Errorf("%s: got %d polls, want %d", what, got, n)
			}
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

// TestWhatStartsRounds lets ten calls fail in several ways, and makes no other call: the circuit opens
// after one SampleRate.
func TestWhatStartsRounds(t *testing.T) {
	k := breaker.Key{ID: "k"}
	failed := 0
	for name, tt := range map[string]struct {
		c  breaker.Config
		do func(*testing.T, *breaker.Manager)
	}{
		"late failures": {breaker.Config{}, func(t *testing.T, m *breaker.Manager) {
			var calls sync.WaitGroup
			for range 10 {
				calls.Go(func() {
					_ = m.Circuit(k).Do(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return errBoom })
				})
			}
			calls.Wait()
		}},
		"failed rounds": {breaker.Config{Poll: polls(func() results {
			if failed++; failed < 3 {
				return nil
			}
			return results{k: {Failures: 20}}
		})}, func(*testing.T, *breaker.Manager) { time.Sleep(10 * time.Second) }},
		"Run that has ended": {breaker.Config{}, func(t *testing.T, m *breaker.Manager) {
			time.Sleep(3 * time.Second)
			stop := running(t, m)
			time.Sleep(time.Minute)
			stop()
			fails(t, m, k, 10)
		}},
		"Tune": {breaker.Config{Mode: throttle.ModeOff}, func(t *testing.T, m *breaker.Manager) {
			must(t, m.Tune(breaker.Patch{Mode: new(throttle.ModeEnforce)}))
			fails(t, m, k, 10)
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			m := agent(t, tt.c)
			defer m.Close()
			tt.do(t, m)
			time.Sleep(5*time.Second + 1)
			wantState(t, m, k, breaker.Open, name)
		})
	}
}

// TestOneOfTheManagersOfAProcessLeads, and the others read what it decides.
func TestOneOfTheManagersOfAProcessLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := breaker.NewMemoryStore()
		all, k := agents(t, 3, breaker.Config{Store: s}), breaker.Key{ID: "k"}
		for range 60 {
			for _, m := range all {
				_ = m.Circuit(k).Do(t.Context(), failing)
			}
			time.Sleep(time.Second)
		}
		leaders := 0
		for i, m := range all {
			if m.Stats().Leads {
				leaders++
			}
			if state := m.Status(k).State; state == breaker.Closed {
				t.Errorf("manager %d: got closed", i)
			}
			_ = m.Close()
		}
		if leaders != 1 {
			t.Errorf("got %d leaders, want 1", leaders)
		}
	})
}

func TestWithoutRunFailClosedWaitsForTheFirstReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := agent(t, breaker.Config{OnStale: breaker.FailClosed}), breaker.Key{ID: "k"}
		defer m.Close()
		wants(t, m.CanExecute(t.Context(), k), breaker.ErrStale, "first call")
		time.Sleep(time.Millisecond)
		wants(t, m.CanExecute(t.Context(), k), nil, "second call")
		time.Sleep(time.Hour) // longer than MaxStale, without calls
		wants(t, m.CanExecute(t.Context(), k), nil, "an hour later")
	})
}

func TestWithoutRunANotificationIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		m := agent(t, breaker.Config{Notify: func(_ context.Context, e breaker.Event) error {
			if ids = append(ids, e.ID()); len(ids) < 3 {
				return errBoom
			}
			return nil
		}})
		defer m.Close()
		fails(t, m, breaker.Key{ID: "k"}, 10)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(ids) != 3 || ids[0] != ids[2] {
			t.Errorf("got notifications %q, want one event three times", ids)
		}
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
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestNotRunningIsReportedOnce of a manager on a shared store.
func TestNotRunningIsReportedOnce(t *testing.T) {
	tests := []struct {
		name  string
		drive func(*testing.T, *breaker.Manager)
		mode  throttle.Mode
		want  uint64
	}{
		{"never run", nil, throttle.ModeEnforce, 1},
		{"never run, in shadow", nil, throttle.ModeShadow, 1},
		{"off", nil, throttle.ModeOff, 0},
		{"run", func(t *testing.T, m *breaker.Manager) { running(t, m)() }, throttle.ModeEnforce, 0},
		{"sampled", func(t *testing.T, m *breaker.Manager) { sample(t, m) }, throttle.ModeEnforce, 0},
		{"refreshed", func(t *testing.T, m *breaker.Manager) { _ = m.Refresh(t.Context()) }, throttle.ModeEnforce, 0},
		{"closed", func(_ *testing.T, m *breaker.Manager) { _ = m.Close() }, throttle.ModeEnforce, 0},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			m := agent(t, breaker.Config{Store: newMeddler(breaker.NewMemoryStore()), Mode: tt.mode})
			for i := range 60 {
				_ = m.CanExecute(t.Context(), breaker.Key{ID: "k"})
				if i == 9 && m.Stats().Errors.Of(breaker.NotRunning) > 0 {
					t.Error("reported before two SampleRates")
				}
				if i == 5 && tt.drive != nil {
					tt.drive(t, m)
				}
				time.Sleep(time.Second)
			}
			synctest.Wait()
			s := m.Stats()
			if got := s.Errors.Of(breaker.NotRunning); got != tt.want || !s.NotRunning {
				t.Errorf("got %d errors, NotRunning %v, want %d and true", got, s.NotRunning, tt.want)
			}
		})
	}
}
