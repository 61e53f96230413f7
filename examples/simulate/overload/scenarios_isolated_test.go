package overload

import (
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestIsolatedScenarios(t *testing.T) {
	for _, s := range isolated() {
		if len(s.Cases) != 96 {
			t.Errorf("%s has %d cases, want 96", s.Name, len(s.Cases))
		}
		names := map[string]bool{}
		for _, c := range s.Cases {
			names[c.Name] = true
			last := &c.Phases[len(c.Phases)-1]
			if healthy := len(healthyBeside(last)); healthy != 1 && healthy != 2 {
				t.Errorf("%s: %s: %d healthy priorities in the end", s.Name, c.Name, healthy)
			}
			for i := range c.Phases {
				if load := c.Phases[i].Load.sum(); load > 0.61 {
					t.Errorf("%s: %s: load of %v, want capacity to spare", s.Name, c.Name, load)
				}
			}
		}
		if len(names) != len(s.Cases) {
			t.Errorf("%s: only %d names", s.Name, len(names))
		}
	}
}

// TestHealthyPrioritiesAreAdmittedBesideAFailingOne plays the cases in which the most calls fail.
// Package adaptive, which has no priorities, sheds healthy calls in them.
func TestHealthyPrioritiesAreAdmittedBesideAFailingOne(t *testing.T) {
	for _, s := range isolated() {
		s.Cases = s.Cases[len(s.Cases)-2:]
		if testing.Short() {
			s.Cases = s.Cases[:1]
			s = shortened(s, 4)
		}
		for _, name := range []string{"sre", "tiered"} {
			f := play(t, s, policy(t, name), 1, Options{}).Figures
			if f.Steady < 0.99 || f.SteadyWorst < 0.99 || f.Success[throttle.Important] > 0.5 {
				t.Errorf("%s with %s: got %+v", s.Name, name, f)
			}
		}
		if f := play(t, s, policy(t, "adaptive"), 1, Options{}).Figures; f.Steady > 0.95 {
			t.Errorf("%s with adaptive: got %+v, want healthy calls shed", s.Name, f)
		}
	}
}
