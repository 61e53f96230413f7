//go:build !race

package throttle_test

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

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
			equal(t, fmt.Sprintf("allocations in %d calls", callsPerRun), allocs, 0)
			c.warm(t)
		})
	}
}

// TestAPresentKeyAllocatesNothing: neither with one member nor with a full group.
func TestAPresentKeyAllocatesNothing(t *testing.T) {
	for _, n := range []int{1, 100} {
		g := newGroup(t, (&register{}).config, throttle.GroupConfig{Max: n})
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("backend-%d.example:443", i)
			member(t, g, keys[i])
		}
		for name, find := range map[string]func(key string){
			"Get":    func(key string) { _, _ = g.Get(key) },
			"Lookup": func(key string) { g.Lookup(key) },
		} {
			allocs := testing.AllocsPerRun(100, func() {
				for _, key := range keys {
					find(key)
				}
			})
			equal(t, fmt.Sprintf("allocations of %s with %d members", name, n), allocs, 0)
		}
	}
}
