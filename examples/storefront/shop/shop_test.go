package shop_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func open(t *testing.T, settings shop.Settings, hooks throttle.Hooks) *shop.Shop {
	t.Helper()
	s, err := shop.New(shop.Config{Settings: settings, Hooks: hooks})
	if err != nil {
		t.Fatalf("New: got error %v want nil", err)
	}
	return s
}

func change(t *testing.T, s *shop.Shop, to func(*shop.Settings)) {
	t.Helper()
	if _, err := s.Change(to); err != nil {
		t.Errorf("Change: got error %v want nil", err)
	}
}

// play makes calls while script runs, in a bubble, and returns when the last call has ended.
func play(t *testing.T, settings shop.Settings, script func(t *testing.T, s *shop.Shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, settings, throttle.Hooks{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx)
		}()
		script(t, s)
		cancel()
		<-done
		for i, k := range s.Totals().Kinds {
			if k.Served+k.Rejected+k.Shed != k.Offered {
				t.Errorf("%v: got %+v want as many ended as offered", throttle.Priority(i), k)
			}
		}
	})
}

// over returns what happens within a span of time.
func over(s *shop.Shop, span time.Duration) shop.Sample {
	m := shop.NewMeter(s, 0)
	time.Sleep(span)
	return m.Read()
}

func atLeast(t *testing.T, what string, got, want shop.Figure) {
	t.Helper()
	if !(got >= want) {
		t.Errorf("%s: got %.3f want at least %.3f", what, got, want)
	}
}

func atMost(t *testing.T, what string, got, want shop.Figure) {
	t.Helper()
	if !(got <= want) {
		t.Errorf("%s: got %.3f want at most %.3f", what, got, want)
	}
}

func TestAnOutageSparesTheBackend(t *testing.T) {
	play(t, shop.Calm(), func(t *testing.T, s *shop.Shop) {
		over(s, 5*time.Second)
		change(t, s, func(now *shop.Settings) { now.Backend = shop.Down })
		over(s, 6*time.Second) // until the calm is forgotten
		down := over(s, 10*time.Second)
		if down.Served+down.Twin.Served != 0 || down.Goodput.Known() || down.Twin.Goodput.Known() {
			t.Errorf("during the outage: got %v and %v served, goodput %v and %v want none, unknown", down.Served, down.Twin.Served, down.Goodput, down.Twin.Goodput)
		}
		atLeast(t, "sent per second", down.Sent, 5)
		atMost(t, "sent per second", down.Sent, 20)
		change(t, s, func(now *shop.Settings) { now.Backend = shop.Up })
		over(s, 12*time.Second)
		atLeast(t, "goodput after the outage", over(s, 10*time.Second).Goodput, 0.95)
	})
}

// TestASlowBackend: it rejects nothing. The twin has calls wait until they give up.
func TestASlowBackend(t *testing.T) {
	play(t, shop.Calm(), func(t *testing.T, s *shop.Shop) {
		over(s, 5*time.Second)
		change(t, s, func(now *shop.Settings) { now.Backend = shop.Slow })
		over(s, 5*time.Second)
		slow := over(s, 30*time.Second)
		atLeast(t, "goodput", slow.Goodput, 0.6)
		atLeast(t, "success of high", slow.Kinds[throttle.High].Success, 0.75)
		atMost(t, "latency of high", slow.Kinds[throttle.High].Latency, 150)
		atMost(t, "goodput of the twin", slow.Twin.Goodput, 0.05)
		atLeast(t, "latency of the twin", slow.Twin.Latency, 490)
		change(t, s, func(now *shop.Settings) { now.Backend = shop.Up })
		over(s, 10*time.Second)
		calm := over(s, 10*time.Second)
		atLeast(t, "goodput afterwards", calm.Goodput, 0.95)
		atMost(t, "latency of the twin afterwards", calm.Twin.Latency, 20)
	})
}

// TestAnotherPolicyLosesNoCall changes the policy to and fro under load. One of the throttles must have called a hook for every call.
func TestAnotherPolicyLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := &throttletest.Recorder{Limit: -1}
		settings := shop.Calm()
		settings.Load = 4
		s := open(t, settings, recorder.Hooks())
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		go func() {
			for i := range 40 {
				time.Sleep(150*time.Millisecond + 7*time.Microsecond)
				change(t, s, func(now *shop.Settings) { now.Policy = throttle.Policy((i + 1) % 2) })
				if got := s.Throttle().Stats(); got.Policy != throttle.Policy((i+1)%2) || got.Name != shop.Name {
					t.Errorf("throttle: got %s of %q want %v of %q", got.Policy, got.Name, throttle.Policy((i+1)%2), shop.Name)
				}
			}
		}()
		s.Run(ctx)
		totals := s.Totals()
		sum := totals.Sum()
		if sum.Served+sum.Rejected+sum.Shed != sum.Offered || sum.Offered < 10_000 {
			t.Errorf("calls: got %+v want as many ended as offered", sum)
		}
		if totals.Sent != sum.Served+sum.Rejected {
			t.Errorf("calls that reached the backend: got %d want %d", totals.Sent, sum.Served+sum.Rejected)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: got error %v want nil", err)
		}
		if made, closed := recorder.Count(throttletest.KindCreated), recorder.Count(throttletest.KindClosed); made != 41 || closed != made {
			t.Errorf("throttles: got %d made and %d closed want 41 of both", made, closed)
		}
		// A closed throttle makes the call, and calls no hook.
		seen := uint64(recorder.Count(throttletest.KindFinished) + recorder.Count(throttletest.KindShed))
		if seen > sum.Offered || seen < sum.Offered-41 {
			t.Errorf("calls in hooks: got %d want %d, or hardly fewer", seen, sum.Offered)
		}
	})
}

func TestChangeRefusesWhatIsOutOfRange(t *testing.T) {
	s := open(t, shop.Calm(), throttle.Hooks{})
	for want, change := range map[string]func(*shop.Settings){
		"load is -0.1: want 0 to 10":      func(n *shop.Settings) { n.Load = -0.1 },
		"load is 10.1: want 0 to 10":      func(n *shop.Settings) { n.Load = 10.1 },
		"load is NaN":                     func(n *shop.Settings) { n.Load = math.NaN() },
		"capacity is 49: want 50 to 2000": func(n *shop.Settings) { n.Capacity = 49 },
		"capacity is +Inf":                func(n *shop.Settings) { n.Capacity = math.Inf(1) },
		"backend is health(9)":            func(n *shop.Settings) { n.Backend = 9 },
		"policy is policy(9)":             func(n *shop.Settings) { n.Policy = 9 },
	} {
		now, err := s.Change(func(n *shop.Settings) {
			n.Throttled = false
			change(n)
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Change: got error %v want one with %q", err, want)
		}
		if now != shop.Calm() || s.Settings() != shop.Calm() || s.Throttle().Stats().Mode != throttle.ModeEnforce {
			t.Errorf("%s: got settings %+v want them unchanged", want, s.Settings())
		}
	}
}
