package overload

import (
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

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
