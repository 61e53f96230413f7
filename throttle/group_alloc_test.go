//go:build !race

package throttle_test

import (
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

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
