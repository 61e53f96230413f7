//go:build !race

package throttle_test

import "testing"

// callsPerRun is how many calls are one run of AllocsPerRun, which rounds down: what allocates once in sixteen calls, as
// looking at the window anew might, would go unseen in runs of one.
const callsPerRun = 64

// TestCallsAllocateNothing makes every kind of call that should cost no memory.
func TestCallsAllocateNothing(t *testing.T) {
	for _, c := range freeCalls(t) {
		t.Run(c.name, func(t *testing.T) {
			c.warm(t)
			allocs := testing.AllocsPerRun(100, func() {
				for range callsPerRun {
					_ = c.call()
				}
			})
			if allocs != 0 {
				t.Errorf("got %v allocations in %d calls, want 0", allocs, callsPerRun)
			}
			c.warm(t)
		})
	}
}
