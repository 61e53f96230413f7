package overload

import (
	"slices"
	"testing"
)

// TestBadLuck plays a small fleet and checks what Tiered reaches. docs/sre-or-tiered.md says where it should
// be better.
func TestBadLuck(t *testing.T) {
	type bound struct {
		figure    string
		low, high float64
	}
	for name, bounds := range map[string][]bound{
		"half":         {{"goodput", 0.94, 1}, {"success_high", 0.85, 1}, {"success_important", 0.80, 1}},
		"hiccup1":      {{"shed_per_failed", 0, 1.6}},
		"one-priority": {{"goodput", 0.94, 1}, {"sent", 0, 1.12}},
		"turn":         {{"goodput", 0.92, 1}, {"success_high", 0.44, 1}},
	} {
		o := Options{Clients: 23, RejectionCost: 0.25, Certain: true}
		values := play(t, scenario(t, name), policy(t, "tiered"), 1, o).Figures.Values()
		for _, b := range bounds {
			if got := values[slices.Index(FigureNames(), b.figure)]; !(got >= b.low && got <= b.high) {
				t.Errorf("%s: %s is %.3f, want %v to %v", name, b.figure, got, b.low, b.high)
			}
		}
	}
}
