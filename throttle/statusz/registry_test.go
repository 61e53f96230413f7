package statusz

import (
	"errors"
	"runtime"
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

// TestRegistry_releasesThrottles that were closed, and all when the page is closed.
func TestRegistry_releasesThrottles(t *testing.T) {
	p := New()
	newThrottle(t, p, throttle.Config{Name: "group"})
	th, open := newThrottle(t, p, throttle.Config{Name: "group"}), newThrottle(t, p, throttle.Config{Name: "orders"})
	call(th, throttle.High, 3, nil)
	show(t, p)
	wantCollected := func(what string, th weak.Pointer[throttle.Throttle]) {
		t.Helper()
		for range 10 {
			runtime.GC()
		}
		if th.Value() != nil {
			t.Errorf("%s: got a throttle that is kept alive", what)
		}
	}
	closed, left := weak.Make(th), weak.Make(open)
	_ = th.Close()
	th = nil
	wantCollected("a closed throttle", closed)
	_ = p.Close()
	if _, _, err := p.subscribers.subscribe(true, p.newSampler, p.done); !errors.Is(err, errClosed) {
		t.Errorf("a request that came in just before: got error %v want %v", err, errClosed)
	}
	open = nil
	wantCollected("a closed page", left)
	runtime.KeepAlive(p)
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
		{[]throttle.PolicyState{at(none, 0.1, 5), {}}, at(none, 0.1, 5)}, // SRE has no state
		{[]throttle.PolicyState{{}, at(none, 0.1, 5)}, at(none, 0.1, 5)},
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
