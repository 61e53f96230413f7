package overload

import (
	"slices"
	"testing"
)

// TestBadLuck plays a small fleet and checks what Tiered reaches. docs/sre-or-tiered.md says where it should
// be better.
func TestBadLuck(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		certain  bool
		figure   string
		low      float64
		high     float64
	}{
		{"half", true, "goodput", 0.94, 1},
		{"half", true, "success_high", 0.85, 1},
		{"half", true, "success_important", 0.80, 1},
		{"third", true, "success_high", 0.80, 1},
		{"third", false, "success_high", 0.80, 1},
		{"hiccup1", true, "shed_per_failed", 0, 1.6},
		{"hiccup2", true, "shed_per_failed", 0, 5},
		{"hiccups", true, "shed_all", 0, 0.08},
		{"one-priority", true, "goodput", 0.94, 1},
		{"one-priority", true, "sent", 0, 1.12},
		{"turn", true, "goodput", 0.92, 1},
		{"turn", true, "success_high", 0.44, 1},
	} {
		o := Options{Clients: 23, RejectionCost: 0.25, Certain: tt.certain}
		values := play(t, scenario(t, tt.scenario), policy(t, "tiered"), 1, o).Figures.Values()
		if got := values[slices.Index(FigureNames(), tt.figure)]; !(got >= tt.low && got <= tt.high) {
			t.Errorf("%s, certain %v: %s is %.3f, want %v to %v", tt.scenario, tt.certain, tt.figure, got, tt.low, tt.high)
		}
	}
}
