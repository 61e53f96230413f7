//go:build !race

package overload

import (
	"math"
	"testing"
)

// TestKnownFigures holds the whole machinery to figures of five seeds and more. Another simulator gave them before this
// one was written, except those of Tiered. Not under the race detector, which takes a minute for it.
func TestKnownFigures(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		scenario, policy                        string
		goodput, high, shed, recovery, fairness float64 // NaN if not known
	}{
		{"over2", "sre", 0.936, 0.666, 26.2, nan, 1},
		{"over5", "sre", 0.894, 0.571, 6.5, nan, 0.99},
		{"over10", "sre", 0.862, 0.388, 3, nan, 0.99},
		{"over5-aware", "sre", 0.895, 1, 6.25, nan, 1},
		{"over5", "tiered", 0.983, 0.883, 0.5, 7.6, 0.955},
		{"over10", "tiered", 0.979, 0.848, 0.35, 7.3, 0.993},
		{"outage", "tiered", nan, 0, 1.5, 3, nan},
		{"over5", "adaptive", 0.878, 0.181, 6.6, 37, 0.98},
		{"over10", "adaptive", 0.860, 0.092, 3, 54.3, 0.97},
		{"over10", "gozero", 0.926, 0.094, 0.75, 12.3, 0.96},
		{"over5", "failsafe-prio", 0.906, 0.627, 3.5, 54, 1},
	}
	if testing.Short() {
		tests = tests[4:5] // the one in which the most can go wrong: over5 with Tiered
	}
	for _, tt := range tests {
		t.Run(tt.scenario+" "+tt.policy, func(t *testing.T) {
			f := play(t, scenario(t, tt.scenario), policy(t, tt.policy), 1, Options{}).Figures
			check := func(name string, got, want, tolerance float64) {
				if !math.IsNaN(want) && !(math.Abs(got-want) <= tolerance) {
					t.Errorf("%s: got %.3f, want %.3f within %.3f", name, got, want, tolerance)
				}
			}
			check("goodput", f.Goodput, tt.goodput, 0.003)
			check("success of High", f.Success[0], tt.high, 0.01)
			check("seconds to shed", f.TimeToShed, tt.shed, 0.2+0.07*tt.shed)
			check("seconds to recover", f.TimeToRecover, tt.recovery, 0.5+0.1*tt.recovery)
			check("fairness", f.Fairness, tt.fairness, 0.015)
		})
	}
}
