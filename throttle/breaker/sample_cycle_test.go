package breaker_test

import (
	"errors"
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
