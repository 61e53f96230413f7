package breaker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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

// TestFault08MinimumRequestCount opens at exactly the count that is set, and refuses one that is none.
func TestFault08MinimumRequestCount(t *testing.T) {
	for n, want := range map[int]breaker.State{9: breaker.Closed, 10: breaker.Open} {
		m, k := agent(t, breaker.Config{MinimumRequestCount: 10}), breaker.Key{ID: "a"}
		for range n {
			_ = m.Circuit(k).Run(t.Context(), failing)
		}
		sample(t, m)
		if s := m.Status(k).State; s != want {
			t.Errorf("%d failures with MinimumRequestCount 10: got state %v, want %v", n, s, want)
		}
	}
	_, err := breaker.New(breaker.Config{Name: "deliveries", MinimumRequestCount: -1})
	if err == nil || !strings.Contains(err.Error(), "Config.MinimumRequestCount is -1: want 1 to 1e9") {
		t.Errorf("got %v, want the field, its value and its range", err)
	}
}

// TestFault09LongPolls has polls that take three sample rates: the lease is extended meanwhile, nobody else leads, and Run ends at once.
func TestFault09LongPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var led, polls atomic.Int64
		c := breaker.Config{
			Store: breaker.NewMemoryStore(), PollTimeout: time.Minute,
			Hooks: breaker.Hooks{Led: func(e breaker.LeadEvent) {
				if e.Leads {
					led.Add(1)
				}
			}},
			Poll: func(ctx context.Context, _ breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
				polls.Add(1)
				select {
				case <-time.After(15 * time.Second):
					return nil, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		}
		stop := running(t, agents(t, 3, c)...)
		time.Sleep(10*time.Minute + time.Second)
		if n := led.Load(); n != 1 {
			t.Errorf("got %d changes of the leader, want 1", n)
		}
		if n := polls.Load(); n < 35 {
			t.Errorf("got %d polls of 15 s in ten minutes, want about 40", n)
		}
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > 250*time.Millisecond {
			t.Errorf("Run ended %v after its context, in the middle of a poll, want at once", took)
		}
	})
}

// TestFault10LostLeasesAreSilent lets the store refuse to extend a lease: the leader tells of it and leads no longer.
func TestFault10LostLeasesAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault failure
		store := newMeddler(breaker.NewMemoryStore())
		store.before = only(func(ctx context.Context) error { return fault.meddle(ctx, "") }, "Campaign")
		m := agent(t, breaker.Config{Store: store})
		running(t, m)
		time.Sleep(6 * time.Second)
		if !m.Stats().Leads {
			t.Fatal("got an agent that does not lead, want it to")
		}
		fault.set(errNetwork)
		time.Sleep(9 * time.Second)
		if s := m.Stats(); s.Leads || s.Failures[breaker.LeaseLost] != 1 {
			t.Errorf("got leads %v and %d lost leases told of, want false and 1", s.Leads, s.Failures[breaker.LeaseLost])
		}
	})
}

// TestFault16ConfigNeedsEverything makes a manager of nothing but a name, which is a whole breaker.
func TestFault16ConfigNeedsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := breaker.New(breaker.Config{Name: "deliveries"})
		if err != nil {
			t.Fatal(err)
		}
		running(t, m)
		c := m.Circuit(breaker.Key{ID: "a"})
		for range 10 {
			if err := c.Run(t.Context(), failing); !errors.Is(err, errBoom) {
				t.Errorf("got %v, want the call's error", err)
			}
		}
		time.Sleep(6 * time.Second)
		if err := c.Run(t.Context(), succeeding); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("got %v, want ErrOpen", err)
		}
		for range 450 {
			_ = c.Run(t.Context(), succeeding)
			time.Sleep(100 * time.Millisecond)
		}
		if err := c.Run(t.Context(), succeeding); err != nil {
			t.Errorf("got %v 45 s later, want nil", err)
		}
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

// TestFault20EndpointsAreNeverRemoved forgets a circuit everywhere, in the store as soon as everybody can have heard.
func TestFault20EndpointsAreNeverRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := breaker.NewMemoryStore(), breaker.Key{Tenant: "t", ID: "a"}
		m, other := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
		if err := errors.Join(m.Disable(t.Context(), k), other.Refresh(t.Context()), m.Forget(t.Context(), k), other.Refresh(t.Context())); err != nil {
			t.Fatal(err)
		}
		for _, a := range []*breaker.Manager{m, other} {
			if l := a.List(); len(l) != 0 || a.CanExecute(t.Context(), k) != nil {
				t.Errorf("got %v known after Forget, want nothing", l)
			}
		}
		time.Sleep(time.Minute)
		sample(t, other)
		loaded, err := store.Load(t.Context(), []int{k.RecordID().Shard()})
		if err != nil || len(loaded[0].Records) != 0 {
			t.Errorf("got %d records after ObservabilityWindow, error %v, want none", len(loaded[0].Records), err)
		}
	})
}

// TestFault20TenantsShareEverything has a tenant with settings that are refused and one who panics: nobody else notices.
func TestFault20TenantsShareEverything(t *testing.T) {
	var mu sync.Mutex
	told := 0
	c := breaker.Config{
		ConsecutiveFailureThreshold: 1,
		ForTenant: func(tenant string, c breaker.Config) breaker.Config {
			switch tenant {
			case "patient":
				c.MinimumRequestCount = 1000
			case "mad":
				c.FailureThreshold = -1
			case "bad":
				panic("no such tenant")
			}
			return c
		},
		Hooks: breaker.Hooks{Failed: func(e breaker.FailureEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.Failure == breaker.SettingsInvalid {
				told++
			}
		}},
	}
	m := agent(t, c)
	for _, tenant := range []string{"", "patient", "mad", "bad"} {
		for range 20 {
			_ = m.Circuit(breaker.Key{Tenant: tenant, ID: "a"}).Run(t.Context(), failing)
		}
	}
	sample(t, m)
	for tenant, want := range map[string]breaker.State{
		"": breaker.Disabled, "patient": breaker.Closed, "mad": breaker.Disabled, "bad": breaker.Disabled, "quiet": breaker.Closed,
	} {
		if s := m.Status(breaker.Key{Tenant: tenant, ID: "a"}).State; s != want {
			t.Errorf("tenant %q: got state %v, want %v", tenant, s, want)
		}
	}
	if told == 0 {
		t.Error("got no word of settings that are refused, want some")
	}
}
