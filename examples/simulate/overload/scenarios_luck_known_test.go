//go:build !race

package overload

import (
	"fmt"
	"testing"
)

// TestBadLuckKnownFigures plays a small fleet and checks what Tiered reaches, with a backend that says that it is full and
// with one that says nothing. The bounds are a little wider than what five seeds give.
// docs/sre-or-tiered.md says where it should be better.
func TestBadLuckKnownFigures(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		certain  bool
		bounds   []bound
	}{
		{"half", true, []bound{{"goodput", 0.94, 1}, {"success_high", 0.97, 1}, {"success_important", 0.97, 1}}},
		{"half", false, []bound{{"goodput", 0.955, 1}, {"success_high", 0.91, 1}, {"success_important", 0.89, 1}}},
		{"half-errors10", false, []bound{{"success_high", 0.74, 1}}},
		{"third", true, []bound{{"success_high", 0.955, 1}, {"success_important", 0.87, 1}}},
		{"third", false, []bound{{"success_high", 0.89, 1}, {"success_important", 0.78, 1}}},
		{"hiccup1", false, []bound{{"shed_per_failed", 0, 0.1}, {"time_to_admit", 0, 1}}},
		{"hiccup2", true, []bound{{"shed_per_failed", 0, 0.7}, {"time_to_admit", 0, 2}}},
		{"hiccup5", false, []bound{{"shed_per_failed", 0, 0.5}, {"time_to_admit", 0, 2.5}}},
		{"hiccups", true, []bound{{"shed_all", 0, 0.013}}},
		{"pair", false, []bound{{"time_to_recover", 0, 4}}},
		{"one-priority", true, []bound{{"goodput", 0.97, 1}, {"sent", 0, 1.035}}},
		{"turn", true, []bound{{"goodput", 0.94, 1}, {"success_high", 0.46, 1}}},
		{"turn", false, []bound{{"goodput", 0.935, 1}, {"success_high", 0.46, 1}}},
		{"margin", true, []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}},
		{"margin", false, []bound{{"success_high", 0.885, 1}, {"success_important", 0.76, 1}}},
		{"join10", false, []bound{{"false_shed", 0, 0.06}}},
		{"join20", false, []bound{{"false_shed", 0, 0.06}}},
		{"retry20", false, []bound{{"false_shed", 0, 0.07}}},
		{"overerrors20", true, []bound{{"goodput", 0.83, 1}}},
	} {
		o := Options{Clients: 23, RejectionCost: 0.25, Certain: tt.certain}
		f := play(t, scenario(t, tt.scenario), policy(t, "tiered"), 1, o).Figures
		within(t, fmt.Sprintf("%s, certain %v", tt.scenario, tt.certain), f, tt.bounds...)
	}
}
