package breaker_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestFault07Units runs a breaker a thousand times as fast as by default, which whole seconds would make endless or zero.
func TestFault07Units(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, 60*time.Millisecond)
		m := agent(t, breaker.Config{
			Poll: f.poll, SampleRate: 5 * time.Millisecond, ObservabilityWindow: 60 * time.Millisecond, BreakerTimeout: 30 * time.Millisecond,
		})
		running(t, m)
		for range 20 {
			f.end(k, true)
		}
		eventually(t, 10*time.Millisecond, "it opens", inState(k, breaker.Open, m))
		eventually(t, 40*time.Millisecond, "it is half-open", inState(k, breaker.HalfOpen, m))
	})
}

// tripped returns a running manager whose circuit has tripped once and closed again, and the traffic to it.
func tripped(t *testing.T, k breaker.Key, c breaker.Config) (*breaker.Manager, *traffic) {
	t.Helper()
	f := newTraffic(1, time.Minute)
	c.Poll = f.poll
	m := agent(t, c)
	running(t, m)
	f.during(t.Context(), 11*time.Second, 20, k, 1, m)
	f.flow(t.Context(), 20, k, 0, []*breaker.Manager{m}, func() bool { return m.Status(k).State != breaker.Closed })
	if s := m.Status(k); s.Trips != 1 {
		t.Fatalf("got %d trips after one, want 1", s.Trips)
	}
	return m, f
}

// TestFault02NoExit leaves a half-open endpoint with few results: it leaves the state in time all the same.
func TestFault02NoExit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		outcome error
		want    breaker.State
	}{{"failing", errBoom, breaker.Open}, {"succeeding", nil, breaker.Closed}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
				m := agent(t, breaker.Config{Poll: f.poll})
				running(t, m)
				f.during(t.Context(), 6*time.Second, 20, k, 1, m)
				eventually(t, 31*time.Second, "it is half-open", inState(k, breaker.HalfOpen, m))
				eventually(t, 20*time.Second, "one probe passes", func() bool { return m.CanExecute(t.Context(), k) == nil })
				f.end(k, tt.outcome != nil)
				time.Sleep(20 * time.Second)
				if !inState(k, breaker.HalfOpen, m)() {
					t.Errorf("got state %v after one result, want half_open until HalfOpenMax", m.Status(k).State)
				}
				eventually(t, 20*time.Second, "HalfOpenMax decides", inState(k, tt.want, m))
			})
		})
	}
}

// TestFault03OneSuccessCloses lets one of few probes succeed, the rest is open: one answer is no recovery.
func TestFault03OneSuccessCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		m := agent(t, breaker.Config{Poll: f.poll})
		running(t, m)
		f.during(t.Context(), 6*time.Second, 20, k, 1, m)
		eventually(t, 31*time.Second, "it is half-open", inState(k, breaker.HalfOpen, m))
		f.end(k, false)
		time.Sleep(6 * time.Second)
		if s := m.Status(k).State; s != breaker.HalfOpen {
			t.Errorf("got state %v after one success, want half_open", s)
		}
	})
}

// TestFault04SilentEndpoints leaves an open endpoint without calls for longer than the window: it becomes half-open for everybody, and its
// trips are not lost.
func TestFault04SilentEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		all := agents(t, 3, breaker.Config{Store: breaker.NewMemoryStore(), Poll: f.poll, BreakerTimeout: 2 * time.Minute, ConsecutiveFailureThreshold: 3})
		running(t, all...)
		for trip := 1; trip < 3; trip++ {
			took := eventually(t, 12*time.Second, "it opens", func() bool {
				f.during(t.Context(), time.Second, 30, k, 1, all...)
				return inState(k, breaker.Open, all...)()
			})
			t.Logf("trip %d after %v", trip, took)
			eventually(t, 2*time.Minute+time.Second, "it is half-open", inState(k, breaker.HalfOpen, all...))
			time.Sleep(10 * time.Minute)
			if s := all[1].Status(k); s.State != breaker.HalfOpen || s.Trips != trip {
				t.Errorf("got state %v with %d trips after ten minutes of silence, want half_open with %d", s.State, s.Trips, trip)
			}
		}
		eventually(t, 12*time.Second, "the third trip disables it", func() bool {
			f.during(t.Context(), time.Second, 30, k, 1, all...)
			return inState(k, breaker.Disabled, all...)()
		})
	})
}

// TestFault05BlindAfterClosing lets an endpoint recover and fail again at once: nothing is ignored after the circuit has closed.
func TestFault05BlindAfterClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		m := agent(t, breaker.Config{Poll: f.poll, BreakerTimeout: 10 * time.Minute})
		running(t, m)
		f.during(t.Context(), 11*time.Second, 20, k, 1, m)
		eventually(t, 11*time.Minute, "it is half-open", inState(k, breaker.HalfOpen, m))
		for !inState(k, breaker.Closed, m)() {
			f.during(t.Context(), time.Second, 20, k, 0, m)
		}
		begun := time.Now()
		f.during(t.Context(), 11*time.Second, 20, k, 1, m)
		if s := m.Status(k); s.State != breaker.Open || s.Trips != 2 {
			t.Errorf("got state %v with %d trips %v after it has closed and failed, want open with 2", s.State, s.Trips, time.Since(begun))
		}
	})
}

// TestFault18TripsNeverDecay keeps a circuit well for long enough, with calls and without.
func TestFault18TripsNeverDecay(t *testing.T) {
	for _, tt := range []struct {
		name  string
		well  time.Duration
		rps   int
		trips int
	}{
		{"not long enough", 4 * time.Minute, 20, 1},
		{"long enough", 5*time.Minute + 6*time.Second, 20, 0},
		{"long enough without calls", 10 * time.Minute, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := breaker.Key{ID: "a"}
				m, f := tripped(t, k, breaker.Config{})
				f.during(t.Context(), tt.well, tt.rps, k, 0, m)
				if s := m.Status(k); s.Trips != tt.trips || s.State != breaker.Closed {
					t.Errorf("got state %v with %d trips after %v, want closed with %d", s.State, s.Trips, tt.well, tt.trips)
				}
			})
		})
	}
}

// TestFault18EnabledAndDisabledAgain enables a disabled circuit that goes on failing: its trips are counted from 0.
func TestFault18EnabledAndDisabledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := breaker.Key{ID: "a"}
		m, f := tripped(t, k, breaker.Config{ConsecutiveFailureThreshold: 3})
		dead := func() {
			f.flow(t.Context(), 20, k, 1, []*breaker.Manager{m}, func() bool { return m.Status(k).State != breaker.Disabled })
		}
		dead()
		for range 2 {
			if err := m.Enable(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			if s := m.Status(k); s.State != breaker.Closed || s.Trips != 0 {
				t.Errorf("got state %v with %d trips after Enable, want closed with 0", s.State, s.Trips)
			}
			begun := time.Now()
			dead()
			if took := time.Since(begun); took < time.Minute || m.Status(k).Trips != 3 {
				t.Errorf("got it disabled %v after Enable, with %d trips, want after two stays in open, with 3", took, m.Status(k).Trips)
			}
		}
	})
}

// TestHalfOpenMaxOutlastsNotes has a HalfOpenMax that is longer than the steps in which calls are noted, an eighth of Retention.
func TestHalfOpenMaxOutlastsNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		m := agent(t, breaker.Config{
			Poll: f.poll, ObservabilityWindow: 3 * time.Minute, HalfOpenMax: 3 * time.Minute, Retention: 10 * time.Minute, HalfOpenProbes: 10,
		})
		running(t, m)
		f.during(t.Context(), 6*time.Second, 20, k, 1, m)
		eventually(t, 31*time.Second, "it is half-open", inState(k, breaker.HalfOpen, m))
		for range 16 {
			f.end(k, true)
			time.Sleep(15 * time.Second)
		}
		if s := m.Status(k); s.Trips < 2 {
			t.Errorf("got state %v with %d trips four minutes after the first failing probe, want HalfOpenMax, 3 min, to have decided", s.State, s.Trips)
		}
	})
}

// TestProbesCountBeforeTheLeaderSaysHalfOpen ends some probes before the leader's round, and some after: all of them count.
func TestProbesCountBeforeTheLeaderSaysHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, k := t.Context(), breaker.Key{ID: "a"}
		var told atomic.Pointer[breaker.Event]
		m := agent(t, breaker.Config{
			SampleRate: 10 * time.Second, BreakerTimeout: 15 * time.Second, HalfOpenProbes: 5,
			Hooks: breaker.Hooks{Changed: func(e breaker.Event) { told.Store(&e) }},
		})
		running(t, m)
		time.Sleep(time.Second)
		for range 10 {
			_ = m.Circuit(k).Run(ctx, failing)
		}
		time.Sleep(9*time.Second + time.Millisecond) // to 10 s: the round that opens it, until 25 s
		if last := told.Load(); last == nil || last.To != breaker.Open {
			t.Fatalf("got change %v, want one to open", last)
		}
		probe := func(n int) {
			for n > 0 {
				if m.Circuit(k).Run(ctx, failing) != nil && m.Stats().Probes > 0 {
					n--
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(16 * time.Second) // to 26 s: half-open, of which the leader learns at 30 s
		results := func() uint64 { return m.Stats().Calls[breaker.HalfOpen].Admitted }
		for results() < 3 {
			probe(1)
		}
		time.Sleep(4 * time.Second) // over 30 s
		for results() < 5 {
			probe(1)
		}
		time.Sleep(12 * time.Second) // over 40 s
		if last := told.Load(); last.To != breaker.Open || last.Failures != 5 || last.Trips != 2 {
			t.Errorf("got a change to %v with %v failures at trip %d, want open with 5 failures at trip 2", last.To, last.Failures, last.Trips)
		}
	})
}

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
