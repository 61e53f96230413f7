//go:build !race

package overload

import (
	"fmt"
	"slices"
	"testing"
)

// bound is the range of a figure. Each is a little wider than what five seeds give.
type bound struct {
	figure    string
	low, high float64
}

// bounded is a scenario that a policy plays, and the bounds of its figures.
type bounded struct {
	scenario, policy string
	options          Options
	bounds           []bound
}

func playBounded(t *testing.T, all []bounded) {
	t.Helper()
	for _, b := range all {
		t.Run(fmt.Sprintf("%s, %s, certain %v, %d clients", b.scenario, b.policy, b.options.Certain, b.options.Clients), func(t *testing.T) {
			t.Parallel()
			figures := play(t, scenario(t, b.scenario), policy(t, b.policy), 1, b.options).Figures.Values()
			for _, of := range b.bounds {
				if got := figures[slices.Index(FigureNames(), of.figure)]; !(got >= of.low && got <= of.high) {
					t.Errorf("%s is %.3f, want %v to %v", of.figure, got, of.low, of.high)
				}
			}
		})
	}
}

// TestBadLuckKnownFigures plays a fleet, and checks what Tiered reaches, with a backend that says that it is full and with one
// that says nothing. docs/sre-or-tiered.md says where it should be better.
func TestBadLuckKnownFigures(t *testing.T) {
	silent := func(clients int) Options { return Options{Clients: clients, RejectionCost: 0.25} }
	full := func(clients int) Options { return Options{Clients: clients, RejectionCost: 0.25, Certain: true} }
	playBounded(t, []bounded{
		{"half", "tiered", full(23), []bound{{"goodput", 0.94, 1}, {"success_high", 0.97, 1}, {"success_important", 0.97, 1}}},
		{"half", "tiered", silent(23), []bound{{"goodput", 0.955, 1}, {"success_high", 0.91, 1}, {"success_important", 0.89, 1}}},
		{"half-errors10", "tiered", silent(23), []bound{{"success_high", 0.74, 1}}},
		{"third", "tiered", full(23), []bound{{"success_high", 0.955, 1}, {"success_important", 0.87, 1}}},
		{"third", "tiered", silent(23), []bound{{"success_high", 0.89, 1}, {"success_important", 0.78, 1}}},
		{"hiccup1", "tiered", silent(23), []bound{{"shed_per_failed", 0, 0.1}, {"time_to_admit", 0, 1}}},
		{"hiccup2", "tiered", full(23), []bound{{"shed_per_failed", 0, 0.7}, {"time_to_admit", 0, 2}}},
		{"hiccup5", "tiered", silent(23), []bound{{"shed_per_failed", 0, 0.5}, {"time_to_admit", 0, 2.5}}},
		{"hiccups", "tiered", full(23), []bound{{"shed_all", 0, 0.013}}},
		{"pair", "tiered", silent(23), []bound{{"time_to_recover", 0, 4}}},
		{"one-priority", "tiered", full(23), []bound{{"goodput", 0.97, 1}, {"sent", 0, 1.035}}},
		{"turn", "tiered", full(23), []bound{{"goodput", 0.94, 1}, {"success_high", 0.46, 1}}},
		{"turn", "tiered", silent(23), []bound{{"goodput", 0.935, 1}, {"success_high", 0.46, 1}}},
		{"margin", "tiered", full(23), []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}},
		{"margin", "tiered", silent(23), []bound{{"success_high", 0.885, 1}, {"success_important", 0.76, 1}}},
		{"join10", "tiered", silent(23), []bound{{"false_shed", 0, 0.06}}},
		{"join20", "tiered", silent(23), []bound{{"false_shed", 0, 0.06}}},
		{"retry20", "tiered", silent(23), []bound{{"false_shed", 0, 0.07}}},
		{"overerrors20", "tiered", full(23), []bound{{"goodput", 0.83, 1}}},
		{"brownout", "tiered", full(23), []bound{{"time_to_recover", 0, 25}}},
		{"third", "tiered", full(100), []bound{{"success_high", 0.945, 1}, {"success_important", 0.82, 1}}},
		{"third", "tiered", silent(100), []bound{{"success_high", 0.865, 1}, {"success_important", 0.75, 1}}},
		{"margin", "tiered", full(100), []bound{{"success_high", 0.955, 1}, {"success_important", 0.84, 1}}},
		{"hiccup5", "tiered", full(100), []bound{{"time_to_admit", 0, 4}}},
	})
}

// TestSlowAutoKnownFigures plays throttles that learn what slow is: full backends, and slow ones that are not full.
func TestSlowAutoKnownFigures(t *testing.T) {
	calm := []bound{{"shed_all", 0, 0.001}}
	learning := func(clients int) Options { return Options{Clients: clients, Settings: Settings{SlowAuto: true}} }
	playBounded(t, []bounded{
		{"slow-ten", "tiered", learning(1), calm},
		{"slow-ten", "tiered", learning(23), calm},
		{"slow-ten-random", "tiered", learning(23), calm},
		{"mix-shift", "tiered", learning(1), calm},
		{"mix-shift", "tiered", learning(23), calm},
		{"load-step", "tiered", learning(23), calm},
		{"slow-rare", "tiered", learning(23), calm},
		{"pauses", "tiered", learning(1), calm},
		{"queue2", "tiered", learning(1), []bound{{"goodput", 0.97, 1}, {"success_high", 0.98, 1}, {"success_important", 0.98, 1}}},
		{"queue10", "tiered", learning(1), []bound{{"goodput", 0.98, 1}, {"success_high", 0.95, 1}}},
		{"queue10", "tiered", learning(100), []bound{{"goodput", 0.93, 1}, {"success_high", 0.93, 1}, {"fairness", 0.95, 1}}},
		{"slots", "tiered", learning(1), []bound{{"goodput", 0.95, 1}, {"success_high", 0.99, 1}, {"success_important", 0.98, 1}}},
		{"slots-cold", "tiered", learning(1), []bound{{"goodput", 0.92, 1}, {"success_high", 0.99, 1}}},
		{"slow-ramp-10", "tiered", learning(1), []bound{{"goodput", 0.95, 1}, {"success_high", 0.97, 1}}},
		{"lock", "tiered", learning(1), []bound{{"goodput", 0.98, 1}, {"success_high", 0.98, 1}}},
		{"queue2", "tiered", learning(23), []bound{{"goodput", 0.95, 1}, {"success_high", 0.98, 1}, {"fairness", 0.95, 1}}},
		{"pool5-100", "tiered", learning(23), []bound{{"goodput", 0.97, 1}, {"success_high", 0.97, 1}, {"fairness", 0.9, 1}}},
	})
}

// TestTenantsKnownFigures: the backend is blind, and rejects calls of any tenant. Those are 9 % of what is sent, so a tenant of which
// no call is shed has a success of 91 %. If it says that it is full, they are 2 %.
func TestTenantsKnownFigures(t *testing.T) {
	certain := Options{Certain: true}
	playBounded(t, []bounded{
		{"tenants-greedy", "tiered", Options{}, []bound{{"tenants_below", 0.15, 0.18}}},
		{"tenants-greedy", "fair", Options{}, []bound{{"tenants_below", 0.89, 1}}},
		{"tenants-greedy-local", "fair", Options{}, []bound{{"tenants_below", 0.90, 1}}},
		{"tenants-greedy", "fair", certain, []bound{{"tenants_below", 0.965, 1}}},
		{"tenants-greedy-local", "fair", certain, []bound{{"tenants_below", 0.97, 1}}},
		{"tenants-zipf-local", "tiered", Options{}, []bound{{"tenants_fair", 0, 0.1}}},
		{"tenants-zipf-local", "fair", Options{}, []bound{{"tenants_fair", 0.98, 1}}},
		{"tenants-weights", "fair", Options{}, []bound{{"tenants_worst", 0.95, 1}}},
		{"tenants-weights-local", "fair", Options{}, []bound{{"tenants_worst", 0.95, 1}}},
	})
}
