//go:build !race

package overload

import "testing"

// TestPeersKnownFigures: each keeps the open calls of a client far below those without a limit, and sheds little in healthy times.
func TestPeersKnownFigures(t *testing.T) {
	s := shortened(scenario(t, "pool5-10"), 6)
	none := play(t, s, policy(t, "none"), 1, Options{}).Figures
	for _, p := range limiters() {
		t.Run(p.Name, func(t *testing.T) {
			f := play(t, s, p, 1, Options{}).Figures
			if f.FalseShed > 0.25 || f.MostOpen > none.MostOpen/2 || f.Goodput < none.Goodput {
				t.Errorf("got false shed %v, %v open, goodput %v, want 0.25 at most, %v at most, %v at least",
					f.FalseShed, f.MostOpen, f.Goodput, none.MostOpen/2, none.Goodput)
			}
		})
	}
}
