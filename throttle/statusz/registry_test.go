package statusz

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/spillway-go/spillway/throttle"
)

func TestRegistry_oneRowPerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		a := newThrottle(t, p, throttle.Config{Name: "hooks", Policy: throttle.SRE, Ratio: 3})
		b := newThrottle(t, p, throttle.Config{Name: "hooks", Policy: throttle.SRE, Mode: throttle.ModeShadow})
		other := newThrottle(t, p, throttle.Config{Name: "another", Priorities: 1})
		call(a, throttle.Low, 10, nil)
		call(b, throttle.Low, 5, nil)
		call(a, throttle.Low, 40, down())
		call(other, 0, 1, nil)
		look := func() throttleDocument {
			tick()
			return find(t, show(t, p), "hooks")
		}
		show(t, p)
		row := look()
		low := row.Priorities[throttle.Low]
		if row.Instances != 2 || !row.Mixed || row.Mode != "mixed" || row.Policy != "sre" || row.Ratio != 3 {
			t.Errorf("got %d instances, mixed %v, mode %s, policy %s, ratio %v, want 2, true, mixed, sre, 3",
				row.Instances, row.Mixed, row.Mode, row.Policy, row.Ratio)
		}
		if want := a.RejectionProbability(throttle.Low); low.Probability != want || want == 0 {
			t.Errorf("probability: got %v want the higher one, %v", low.Probability, want)
		}
		if sum := low.Admitted + low.Shed.sum(); sum != 55 {
			t.Errorf("got %d calls want 55", sum)
		}
		if got := low.Window.Accepted; got != 15 {
			t.Errorf("window: got %d accepted want 15", got)
		}
		before := low
		_ = a.Close()
		row = look()
		low = row.Priorities[throttle.Low]
		if row.Instances != 1 || row.Mixed || row.Mode != "shadow" || low.Probability != 0 || low.Window.Accepted != 5 {
			t.Errorf("after the first is closed: got %d instances, mixed %v, mode %s, probability %v, %d accepted in the window",
				row.Instances, row.Mixed, row.Mode, low.Probability, low.Window.Accepted)
		}
		if low.Admitted != before.Admitted || low.Shed != before.Shed {
			t.Errorf("its counters: got %d admitted, %v shed, want still %d, %v", low.Admitted, low.Shed, before.Admitted, before.Shed)
		}
		_ = b.Close()
		tick()
		if doc := show(t, p); len(doc.Throttles) != 1 || doc.Throttles[0].Name != "another" {
			t.Errorf("after the last is closed: got %d rows, want only another", len(doc.Throttles))
		}
		fresh := newThrottle(t, p, throttle.Config{Name: "hooks"})
		call(fresh, throttle.Low, 1, nil)
		if low := look().Priorities[throttle.Low]; low.Admitted != 1 {
			t.Errorf("when the name comes back: got %d admitted want 1", low.Admitted)
		}
	})
}

// TestRegistry_callsInFlightAtClose closes a throttle with a call in flight.
func TestRegistry_callsInFlightAtClose(t *testing.T) {
	p := New()
	defer p.Close()
	a := newThrottle(t, p, throttle.Config{Name: "hooks"})
	newThrottle(t, p, throttle.Config{Name: "hooks"})
	c, err := a.Admit(t.Context(), throttle.High)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.registry.read()[0].priorities[0]; r.InFlight != 1 || r.document().Admitted != 1 {
		t.Errorf("got %d in flight, %d admitted, want 1, 1", r.InFlight, r.document().Admitted)
	}
	_ = a.Close()
	c.Done(nil)
	if r := p.registry.read()[0].priorities[0]; r.InFlight != 0 || r.document().Admitted != 1 {
		t.Errorf("after Close: got %d in flight, %d admitted, want 0, 1", r.InFlight, r.document().Admitted)
	}
}

// TestRegistry_countersNeverFall reads all the time while members are made, used, closed and used again.
func TestRegistry_countersNeverFall(t *testing.T) {
	p := New()
	defer p.Close()
	newThrottle(t, p, throttle.Config{Name: "group"})
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 50 {
				th := newThrottle(t, p, throttle.Config{Name: "group"})
				call(th, throttle.High, 20, nil)
				var closers sync.WaitGroup
				closers.Go(func() { call(th, throttle.High, 200, nil) })
				closers.Go(func() { _ = th.Close() })
				closers.Wait()
			}
		})
	}
	over := make(chan struct{})
	go func() {
		workers.Wait()
		close(over)
	}()
	var last uint64
	for reading, done := 0, false; !done; reading++ {
		select {
		case <-over:
			done = true
		default:
		}
		got := p.registry.read()[0].priorities[0].document().Admitted
		if got < last {
			t.Fatalf("reading %d: got %d admitted after %d", reading, got, last)
		}
		last = got
	}
	if last < 4*50*20 {
		t.Errorf("got %d admitted at the end, want at least 4000", last)
	}
	p.wantDraining(t, "group", 0)
}

func TestRegistry_releasesClosedThrottles(t *testing.T) {
	p := New()
	defer p.Close()
	newThrottle(t, p, throttle.Config{Name: "group"})
	th := newThrottle(t, p, throttle.Config{Name: "group"})
	call(th, throttle.High, 3, nil)
	show(t, p)
	closed := weak.Make(th)
	_ = th.Close()
	th = nil
	for range 10 {
		runtime.GC()
	}
	if closed.Value() != nil {
		t.Error("a closed throttle is kept alive")
	}
	runtime.KeepAlive(p)
}

// TestPage_closeReleasesThrottles closes only the page. Its throttles go on and are not kept alive by it.
func TestPage_closeReleasesThrottles(t *testing.T) {
	p := New()
	th := newThrottle(t, p, throttle.Config{Name: "orders"})
	show(t, p)
	kept := weak.Make(th)
	_ = p.Close()
	if _, _, err := p.subscribers.subscribe(true, p.newSampler, p.done); !errors.Is(err, errClosed) {
		t.Errorf("a request that came in just before: got error %v want %v", err, errClosed)
	}
	runtime.KeepAlive(th)
	th = nil
	for range 10 {
		runtime.GC()
	}
	if kept.Value() != nil {
		t.Error("a throttle is kept alive by a closed page")
	}
	runtime.KeepAlive(p)
}

func TestHooks_joinedTwice(t *testing.T) {
	p := New()
	defer p.Close()
	th := newThrottle(t, p, throttle.Config{Name: "orders", Hooks: p.Hooks()})
	call(th, throttle.High, 1, nil)
	if row := find(t, show(t, p), "orders"); row.Instances != 1 || row.Priorities[0].Admitted != 1 {
		t.Errorf("got %d instances, %d admitted, want 1, 1", row.Instances, row.Priorities[0].Admitted)
	}
	_ = th.Close()
	if n := len(p.registry.read()); n != 0 {
		t.Errorf("after Close: got %d rows want none", n)
	}
}

// TestRegistry_state has the longest alert of the members, and the highest background.
func TestRegistry_state(t *testing.T) {
	at := func(alert throttle.AlertReason, background float64, second int64) throttle.PolicyState {
		return throttle.PolicyState{Alert: alert, Background: background, Since: time.Unix(second, 0)}
	}
	const none, ratio, growth = throttle.NoAlert, throttle.RatioAlert, throttle.GrowthAlert
	for _, c := range []struct {
		members []throttle.PolicyState
		want    throttle.PolicyState
	}{
		{[]throttle.PolicyState{at(none, 0.1, 5), at(none, 0.2, 4)}, at(none, 0.2, 4)},
		{[]throttle.PolicyState{at(none, 0.1, 1), at(ratio, 0, 9), at(growth, 0, 7), at(none, 0, 0)}, at(growth, 0.1, 7)},
		{[]throttle.PolicyState{at(growth, 0.3, 7), at(none, 0, 0), at(ratio, 0.1, 8)}, at(growth, 0.3, 7)},
	} {
		var row rowStats
		for i, s := range c.members {
			row.addState(s, i == 0)
		}
		if row.state != c.want {
			t.Errorf("%v: got %v want %v", c.members, row.state, c.want)
		}
	}
}

// TestRegistry_stateBesideSRE: a throttle of another policy with the same name has no state.
func TestRegistry_stateBesideSRE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		defer newThrottle(t, p, throttle.Config{Name: "x", Policy: throttle.Tiered}).Close()
		show(t, p)
		want := find(t, show(t, p), "x").StateSince
		defer newThrottle(t, p, throttle.Config{Name: "x", Policy: throttle.SRE}).Close()
		tick()
		if got := find(t, show(t, p), "x").StateSince; got != want || want == "" {
			t.Errorf("got %q want %q", got, want)
		}
	})
}
