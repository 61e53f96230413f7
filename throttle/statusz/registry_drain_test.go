package statusz

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

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
	})
}
