package statusz

import (
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
