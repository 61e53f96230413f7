package statusz

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/spillway-go/spillway/throttle"
)

// TestRegistry_nameComesBack has a row as long as one of its throttles is open. A later one starts from zero.
func TestRegistry_nameComesBack(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		a := newThrottle(t, p, throttle.Config{Name: "hooks"})
		b := newThrottle(t, p, throttle.Config{Name: "hooks", Mode: throttle.ModeShadow})
		call(a, throttle.Low, 10, nil)
		show(t, p)
		_ = a.Close()
		tick()
		if row := find(t, show(t, p), "hooks"); row.Instances != 1 || row.Mode != "shadow" || row.Priorities[throttle.Low].Admitted != 10 {
			t.Errorf("after the first is closed: got %d instances, mode %s, %+v want 1, shadow, 10 admitted", row.Instances, row.Mode, row.Priorities[throttle.Low])
		}
		_ = b.Close()
		tick()
		if doc := show(t, p); len(doc.Throttles) > 0 {
			t.Errorf("after the last is closed: got %d rows want none", len(doc.Throttles))
		}
		call(newThrottle(t, p, throttle.Config{Name: "hooks"}), throttle.Low, 1, nil)
		tick()
		if low := find(t, show(t, p), "hooks").Priorities[throttle.Low]; low.Admitted != 1 {
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

// TestRegistry_callsInFlightAtEviction evicts a member of a Group with two calls in flight, one of them answered.
func TestRegistry_callsInFlightAtEviction(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		group := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
			return throttle.Config{Name: "hosts", Hooks: p.Hooks()}
		}, throttle.GroupConfig{Max: 1}))
		evicted := throttle.Must(group.Get("a"))
		running := throttle.Must(evicted.Admit(t.Context(), throttle.High))
		answered := throttle.Must(evicted.Admit(t.Context(), throttle.Low))
		answered.Answered(nil)
		throttle.Must(group.Get("b"))
		show(t, p)
		running.Done(down())
		tick()
		answered.Done(nil)
		tick()
		for priority, ended := range map[throttle.Priority]countDocument{
			throttle.High: {Outcome: "rejected", Fault: "availability", Calls: 1}, throttle.Low: {Outcome: "accepted", Fault: "none", Calls: 1},
		} {
			got := find(t, show(t, p), "hosts").Priorities[priority]
			if got.Admitted != 1 || got.InFlight != 0 || !slices.Equal(got.Ended, []countDocument{ended}) {
				t.Errorf("%v: got %d admitted, %d in flight, ended %v want 1, 0, %v", priority, got.Admitted, got.InFlight, got.Ended, ended)
			}
		}
	})
}

// TestRegistry_sums has a row of two open throttles, a closed one, and one whose Stats panicked. A closed one counts only what it has
// counted. Of open ones, the row has the sum, the worst, or the setting if it is the same.
func TestRegistry_sums(t *testing.T) {
	slow := func(s, oldest time.Duration, open int64) throttle.SlowStats {
		return throttle.SlowStats{Slow: s, Learned: s / 2, Oldest: oldest, Open: open, WrittenOff: open, Gate: throttle.ModeOff}
	}
	late := []throttle.PriorityStats{{Slow: throttle.SlowTotals{Late: 1}}}
	first := throttle.Stats{
		Policy: throttle.SRE, Mode: throttle.ModeShadow, Ratio: 3, Slow: slow(2*time.Second, time.Second, 1), ProcessorWait: time.Second, Exempt: 2,
		SendsLoad: true, Received: throttle.ReceivedStats{Known: true, Overloaded: true}, Priorities: late,
	}
	second := throttle.Stats{
		Policy: throttle.SRE, Ratio: 2, Slow: slow(time.Second, 3*time.Second, 2), ProcessorWait: 20 * time.Millisecond, Exempt: 1,
		SendsLoad: true, Received: throttle.ReceivedStats{Known: true, Calm: true}, Priorities: late,
	}
	second.Load.Overloaded, second.Slow.Closed, second.Slow.Full = true, true, true
	closed := second
	closed.Slow, closed.ProcessorWait, closed.Exempt = slow(time.Hour, time.Hour, 100), time.Millisecond, 100
	var row rowStats
	row = row.with(&memberStats{stats: first, ok: true}, true)
	row = row.with(&memberStats{stats: second, ok: true}, true)
	row = row.with(&memberStats{stats: closed, ok: true}, false)
	row = row.with(&memberStats{}, true)
	doc := documentOf(&row)
	want := headDocument{
		Policy: "sre", Mode: "mixed", Mixed: true, Instances: 3, Ratio: 3, Alert: "none", ProcessorWait: 0.02, Exempt: 103,
		LoadSent: "overloaded", LoadReceived: "overloaded",
	}
	if doc.headDocument != want {
		t.Errorf("got %+v\nwant %+v", doc.headDocument, want)
	}
	if want := (slowDocument{Threshold: 2, Gate: "off", Closed: true, Open: 3, Oldest: 3, WrittenOff: 3, Learned: 1, Full: true}); *doc.Slow != want {
		t.Errorf("got %+v\nwant %+v", *doc.Slow, want)
	}
	if got, want := *doc.Priorities[0].Slow, (slowCallsDocument{Late: 3}); got != want {
		t.Errorf("got %+v want %+v", got, want)
	}
}

// TestRegistry_learnedSlow has two throttles with the same settings, which have learned different durations.
func TestRegistry_learnedSlow(t *testing.T) {
	var row rowStats
	for i := range time.Duration(2) {
		learned := throttle.SlowStats{Slow: i * time.Second, Learned: i * time.Second, Auto: true}
		row = row.with(&memberStats{stats: throttle.Stats{Slow: learned, Priorities: make([]throttle.PriorityStats, 1)}, ok: true}, true)
	}
	if doc := documentOf(&row); doc.Mixed || doc.Slow.Threshold != 1 {
		t.Errorf("got mixed %v, slow %v s want false and 1", doc.Mixed, doc.Slow.Threshold)
	}
}
