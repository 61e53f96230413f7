package breaker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// The tests called TestFault… and a number hold what an earlier design of a distributed breaker got wrong: each of them failed there.

// TestFault01KeysAreParsed fails one key of each pair: the other one, which a key cut at its colons would be, stays closed.
func TestFault01KeysAreParsed(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for i, pair := range [][2]breaker.Key{
		{{ID: "breaker:https://x:8443/h"}, {ID: "https"}},
		{{ID: "breaker:tenant:42"}, {ID: "tenant"}},
		{{Tenant: "a", ID: "b:c"}, {Tenant: "a:b", ID: "c"}},
		{{Tenant: "a", ID: "b"}, {ID: "ab"}},
		{{ID: "a\x00b"}, {ID: "a"}},
		{{ID: "\xff\xfe"}, {ID: "\ufffd\ufffd"}},
		{{Tenant: "\xff", ID: "a"}, {Tenant: "\xfe", ID: "a"}},
		{{ID: long + "a"}, {ID: long + "b"}},
		{{ID: ""}, {Tenant: "", ID: "\x00"}},
		{{Tenant: "a", ID: ""}, {Tenant: "", ID: "a"}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			store := breaker.NewMemoryStore()
			m, other := agent(t, breaker.Config{Store: store}), agent(t, breaker.Config{Store: store})
			for range 10 {
				_ = m.Circuit(pair[0]).Run(t.Context(), failing)
				_ = m.Circuit(pair[1]).Run(t.Context(), succeeding)
			}
			sample(t, m)
			if err := other.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, m := range []*breaker.Manager{m, other} {
				if err := m.CanExecute(t.Context(), pair[0]); !errors.Is(err, breaker.ErrOpen) {
					t.Errorf("the key that failed: got %v, want ErrOpen", err)
				}
				if err := m.CanExecute(t.Context(), pair[1]); err != nil {
					t.Errorf("the key that did not fail: got %v, want nil", err)
				}
			}
			if f := other.Stats().Failures[breaker.RecordCorrupt]; f != 0 {
				t.Errorf("got %d corrupt records, want 0", f)
			}
		})
	}
}

// TestFault02HalfOpenLetsAllThrough sends 100 calls a second to an endpoint that is dead: it got a third of them.
func TestFault02HalfOpenLetsAllThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "dead"}, newTraffic(1, time.Minute)
		all := agents(t, 3, breaker.Config{Store: breaker.NewMemoryStore(), Poll: f.poll, HalfOpenProbes: 5})
		running(t, all...)
		f.during(t.Context(), 10*time.Second, 100, k, 1, all...)
		if !inState(k, breaker.Open, all...)() {
			t.Fatal("got an endpoint that is not open after 10 s")
		}
		before, _ := f.calls(k)
		crowded := 0
		hour := size(time.Hour, time.Hour, 10*time.Minute)
		end := time.Now().Add(hour)
		f.flow(t.Context(), 100, k, 1, all, func() bool {
			if err := all[0].CanExecute(t.Context(), k); errors.Is(err, breaker.ErrTooManyRequests) {
				crowded++
			} else if err == nil {
				f.end(k, true)
				before--
			}
			return time.Now().Before(end)
		})
		made, refused := f.calls(k)
		probes := made - before
		cycles := int(hour/(30*time.Second)) + 1 // the shortest stay in open alone
		if most := cycles * 5; probes > most || probes < most/4 {
			t.Errorf("got %d probes, want at most 5 in each of %d half-open times, and not none", probes, cycles)
		}
		if share := float64(probes) / float64(made+refused-before); share > 0.003 {
			t.Errorf("got %.2f %% of the traffic through to a dead endpoint, want at most 0.3 %%", 100*share)
		}
		if crowded == 0 {
			t.Error("got no ErrTooManyRequests, want some while probes are under way")
		}
	})
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

// TestFault03ThresholdsOverlap refuses settings with which the same results would open and close: 80 % failures never disabled.
func TestFault03ThresholdsOverlap(t *testing.T) {
	for _, tt := range []struct {
		failure, success float64
		good             bool
	}{{70, 5, false}, {70, 30, false}, {70, 30.1, true}, {50, 50, false}, {100, 0.1, true}, {10, 90, false}, {10, 90.5, true}} {
		_, err := breaker.New(breaker.Config{Name: "deliveries", FailureThreshold: tt.failure, SuccessThreshold: tt.success})
		if good := err == nil; good != tt.good {
			t.Errorf("FailureThreshold %v, SuccessThreshold %v: got %v, want good %v", tt.failure, tt.success, err, tt.good)
		}
		if err != nil && (!strings.Contains(err.Error(), "SuccessThreshold") || !strings.Contains(err.Error(), "100 - FailureThreshold")) {
			t.Errorf("got %v, want the field and the reason", err)
		}
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
