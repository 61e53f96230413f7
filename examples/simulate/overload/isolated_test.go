package overload

import "testing"

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

// TestNobodyNoticesAFailingPriority plays some of the cases to their end.
func TestNobodyNoticesAFailingPriority(t *testing.T) {
	for _, s := range isolated() {
		s.Cases = s.Cases[70:72]
		f := play(t, s, policy(t, "sre"), 1, Options{}).Figures
		if f.Steady < 0.99 || f.SteadyWorst < 0.99 || f.Success[1] > 0.5 {
			t.Errorf("%s: got %+v", s.Name, f)
		}
	}
}
