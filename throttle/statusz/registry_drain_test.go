package statusz

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
)

// TestRegistry_callsInFlightAtEviction evicts a member of a Group with two calls in flight, one of them answered.
func TestRegistry_callsInFlightAtEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		group := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
			return throttle.Config{Name: "hosts", Hooks: p.Hooks()}
		}, throttle.GroupConfig{Max: 1}))
		evicted := throttle.Must(group.Get("a"))
		running := throttle.Must(evicted.Admit(context.Background(), throttle.High))
		answered := throttle.Must(evicted.Admit(context.Background(), throttle.Low))
		answered.Answered(nil)
		throttle.Must(group.Get("b"))
		viewer := host(t, p).subscribe(t)
		expect := func(event, figures string) {
			t.Helper()
			name, data, err := viewer.next()
			if got := fmt.Sprint(data["figures"]); err != nil || name != event || got != figures {
				t.Errorf("stream: got %s with figures %s, %v want %s with %s", name, got, err, event, figures)
			}
		}
		expect("snapshot", "<nil>")
		running.Done(down())
		expect("sample", "[[1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 [1 1 1]]]")
		answered.Done(nil)
		tick() // for the sampler, which wakes at the same moment
		for _, priority := range []throttle.Priority{throttle.High, throttle.Low} {
			ended := []countDocument{{Outcome: "rejected", Fault: "availability", Calls: 1}}
			if priority == throttle.Low {
				ended = []countDocument{{Outcome: "accepted", Fault: "none", Calls: 1}}
			}
			got := find(t, show(t, p), "hosts").Priorities[priority]
			if got.Admitted != 1 || got.InFlight != 0 || !slices.Equal(got.Ended, ended) {
				t.Errorf("%v: got %d admitted, %d in flight, ended %v want 1, 0, %v", priority, got.Admitted, got.InFlight, got.Ended, ended)
			}
		}
		p.wantDraining(t, "hosts", 0)
	})
}

// TestRegistry_callThatNeverEnds leaves a call in flight at Close. The throttle is kept for ten minutes.
func TestRegistry_callThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		newThrottle(t, p, throttle.Config{Name: "hosts"})
		th := newThrottle(t, p, throttle.Config{Name: "hosts"})
		throttle.Must(th.Admit(context.Background(), throttle.High))
		_ = th.Close()
		for _, step := range []struct {
			wait     time.Duration
			draining int
		}{{0, 1}, {byname.DrainTimeout - time.Second, 1}, {2 * time.Second, 0}} {
			time.Sleep(step.wait)
			if got := p.registry.read()[0].priorities[throttle.High].Admitted; got != 1 {
				t.Errorf("admitted: got %d want 1", got)
			}
			p.wantDraining(t, "hosts", step.draining)
		}
	})
}

// wantDraining fails the test unless the row of a name keeps this many closed throttles.
func (p *Page) wantDraining(t testing.TB, name string, want int) {
	t.Helper()
	for _, row := range p.registry.throttles.Sources() {
		if row.Name == name {
			if _, got := row.Len(); got != want {
				t.Errorf("closed throttles that are kept: got %d want %d", got, want)
			}
			return
		}
	}
	t.Errorf("got no row %q", name)
}
