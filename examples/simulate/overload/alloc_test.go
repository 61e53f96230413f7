//go:build !race

package overload

import (
	"testing"
	"time"
)

// TestNothingIsAllocatedPerCall: a run's allocations grow with the calls in flight, but not with the calls. Not under the race
// detector, which has pools forget.
func TestNothingIsAllocatedPerCall(t *testing.T) {
	for _, b := range []Backend{Blind, Aware, Queue} {
		for _, p := range ours() {
			played := func(length time.Duration) float64 {
				s := steady(length, mix(4))
				s.Backend, s.Clients = b, 10
				return testing.AllocsPerRun(1, func() { play(t, s, p, 1, Options{}) })
			}
			if few, many := played(10*time.Second), played(20*time.Second); many > few+400 { // for 40000 calls more
				t.Errorf("%s, backend %d: %v allocations for few calls, %v for many", p.Name, b, few, many)
			}
		}
	}
}
