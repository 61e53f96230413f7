//go:build !race

package overload

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// due are the figures that a scenario must have.
func due(s Scenario) []string {
	first := &s.Cases[0]
	var names []string
	if !first.Phases[0].Disturbed {
		names = append(names, "false_shed")
	}
	if first.Phases[0].Load[throttle.High] > 0 {
		names = append(names, "success_high")
	}
	if !servesNothing(first.Phases) {
		names = append(names, "sent", "goodput", "waste", "fairness")
	}
	if overloads(first.Phases) {
		names = append(names, "time_to_shed", "time_to_recover")
	}
	if healthyBeside(&first.Phases[len(first.Phases)-1]) != nil {
		names = append(names, "steady", "steady_worst", "whole", "whole_worst")
	}
	return names
}

// servesNothing reports whether the backend has no capacity in the disturbance.
func servesNothing(phases []Phase) bool {
	var disturbed []Phase
	for _, p := range phases {
		if p.Disturbed {
			disturbed = append(disturbed, p)
		}
	}
	return len(disturbed) > 0 && !slices.ContainsFunc(disturbed, func(p Phase) bool { return p.Capacity > 0 })
}

// TestScenariosKnownFigures plays every scenario with each of our policies, and wants that each figure is known and in its
// range.
func TestScenariosKnownFigures(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			due, by := due(s), time.Duration(30)
			if len(s.Cases) > 1 {
				by = 120
			}
			s = shortened(s, by)
			s.Clients = min(s.Clients, 50)
			if testing.Short() {
				s.Cases = s.Cases[:min(len(s.Cases), 8)]
			}
			for _, p := range ours() {
				f := play(t, s, p, 1, fewer()).Figures
				for i, name := range FigureNames() {
					x := f.Values()[i]
					if math.IsNaN(x) && slices.Contains(due, name) && !(name == "fairness" && f.Goodput == 0) {
						t.Errorf("%s: %s is NaN: %+v", p.Name, name, f)
					}
					if x < 0 || x > 1.0001 && !slices.Contains([]string{"sent", "time_to_shed", "time_to_recover", "most_open", "attempts", "shed_per_failed", "time_to_admit"}, name) {
						t.Errorf("%s: %s is %v", p.Name, name, x)
					}
				}
			}
		})
	}
}
