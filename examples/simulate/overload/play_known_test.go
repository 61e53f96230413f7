//go:build !race

package overload

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
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

// TestReportsKnownFigures compares clients that receive load reports with those that do not.
func TestReportsKnownFigures(t *testing.T) {
	for _, c := range []struct {
		scenario string
		good     func(listening, tiered Figures) bool
	}{
		{"reports5", func(l, _ Figures) bool {
			return l.Goodput > 0.96 && l.Success[throttle.High] > 0.98 && l.TimeToRecover <= 4
		}},
		{"reports-join20", func(l, o Figures) bool { return l.FalseShed < 0.005 && o.FalseShed > 0.01 }},
		{"always-calm", func(l, o Figures) bool {
			return l.Success[throttle.High] > o.Success[throttle.High]-0.02 && l.Goodput > o.Goodput-0.02
		}},
		{"always-full", func(l, _ Figures) bool { return l.FalseShed < 0.02 }},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			figures := func(name string) Figures {
				return play(t, scenario(t, c.scenario), policy(t, name), 5, Options{Clients: 23, RejectionCost: 0.25}).Figures
			}
			if l, o := figures("listening"), figures("tiered"); !c.good(l, o) {
				t.Errorf("listening: %+v\nnot: %+v", l, o)
			}
		})
	}
}

// TestSlowProtectsHighKnownFigures: goodput and success of High during overloads of backends that only become slow, with what is reached
// without Slow.
func TestSlowProtectsHighKnownFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: thousands of calls per second for minutes")
	}
	for name, want := range map[string]struct{ goodput, high, goodputOff, highOff float64 }{
		"queue2": {0.96, 0.95, 0.7, 0.85}, "pool5-100": {0.93, 0.94, 0.7, 0.7}, "slow-ramp-10": {0.8, 0.9, 0.7, 0.5},
	} {
		off := play(t, scenario(t, name), policy(t, "tiered"), 1, Options{}).Figures
		on := play(t, scenario(t, name), policy(t, "tiered"), 1, Options{Settings: Settings{Slow: 150 * time.Millisecond}}).Figures
		if on.Goodput < want.goodput || on.Success[throttle.High] < want.high {
			t.Errorf("%s with Slow: got goodput %v, High %v, want %+v", name, on.Goodput, on.Success[throttle.High], want)
		}
		if off.Goodput > want.goodputOff || off.Success[throttle.High] > want.highOff {
			t.Errorf("%s without Slow: got goodput %v, High %v, want less than %+v", name, off.Goodput, off.Success[throttle.High], want)
		}
	}
}

// TestSlowKnownFigures wants the same figures with and without Slow if no call is late, to the last digit.
func TestSlowKnownFigures(t *testing.T) {
	for _, name := range []string{"over5", "errors20", "outage", "bimodal", "slow-step"} {
		s := shortened(scenario(t, name), 6)
		for _, p := range []string{"sre", "tiered"} {
			off := play(t, s, policy(t, p), 1, fewer())
			o := fewer()
			o.Settings.Slow = 300 * time.Millisecond
			if on := play(t, s, policy(t, p), 1, o); bits(on) != bits(off) {
				t.Errorf("%s with %s: got %+v, want %+v", name, p, on.Figures, off.Figures)
			}
		}
	}
}
