//go:build !race

package overload

import (
	"cmp"
	"fmt"
	"testing"
)

// TestBadLuckKnownFigures plays a fleet of 23 clients, unless a row has more, and checks what Tiered reaches, with a backend that says that it is full and
// with one that says nothing. The bounds are a little wider than what five seeds give.
// docs/sre-or-tiered.md says where it should be better.
func TestBadLuckKnownFigures(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		certain  bool
		bounds   []bound
		clients  int
	}{
		{"half", true, []bound{{"goodput", 0.94, 1}, {"success_high", 0.97, 1}, {"success_important", 0.97, 1}}, 0},
		{"half", false, []bound{{"goodput", 0.955, 1}, {"success_high", 0.91, 1}, {"success_important", 0.89, 1}}, 0},
		{"half-errors10", false, []bound{{"success_high", 0.74, 1}}, 0},
		{"third", true, []bound{{"success_high", 0.955, 1}, {"success_important", 0.87, 1}}, 0},
		{"third", false, []bound{{"success_high", 0.89, 1}, {"success_important", 0.78, 1}}, 0},
		{"hiccup1", false, []bound{{"shed_per_failed", 0, 0.1}, {"time_to_admit", 0, 1}}, 0},
		{"hiccup2", true, []bound{{"shed_per_failed", 0, 0.7}, {"time_to_admit", 0, 2}}, 0},
		{"hiccup5", false, []bound{{"shed_per_failed", 0, 0.5}, {"time_to_admit", 0, 2.5}}, 0},
		{"hiccups", true, []bound{{"shed_all", 0, 0.013}}, 0},
		{"pair", false, []bound{{"time_to_recover", 0, 4}}, 0},
		{"one-priority", true, []bound{{"goodput", 0.97, 1}, {"sent", 0, 1.035}}, 0},
		{"turn", true, []bound{{"goodput", 0.94, 1}, {"success_high", 0.46, 1}}, 0},
		{"turn", false, []bound{{"goodput", 0.935, 1}, {"success_high", 0.46, 1}}, 0},
		{"margin", true, []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}, 0},
		{"margin", false, []bound{{"success_high", 0.885, 1}, {"success_important", 0.76, 1}}, 0},
		{"join10", false, []bound{{"false_shed", 0, 0.06}}, 0},
		{"join20", false, []bound{{"false_shed", 0, 0.06}}, 0},
		{"retry20", false, []bound{{"false_shed", 0, 0.07}}, 0},
		{"overerrors20", true, []bound{{"goodput", 0.83, 1}}, 0},
		{scenario: "brownout", certain: true, bounds: []bound{{"time_to_recover", 0, 25}}},
		{scenario: "third", certain: true, clients: 100, bounds: []bound{{"success_high", 0.945, 1}, {"success_important", 0.82, 1}}},
		{scenario: "third", clients: 100, bounds: []bound{{"success_high", 0.865, 1}, {"success_important", 0.75, 1}}},
		{scenario: "margin", certain: true, clients: 100, bounds: []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}},
		{scenario: "hiccup5", certain: true, clients: 100, bounds: []bound{{"time_to_admit", 0, 4}}},
	} {
		o := Options{Clients: cmp.Or(tt.clients, 23), RejectionCost: 0.25, Certain: tt.certain}
		t.Run(fmt.Sprintf("%s, certain %v, %d clients", tt.scenario, tt.certain, o.Clients), func(t *testing.T) {
			t.Parallel()
			f := play(t, scenario(t, tt.scenario), policy(t, "tiered"), 1, o).Figures
			within(t, f, tt.bounds...)
		})
	}
}
