//go:build !race

package overload

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

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
