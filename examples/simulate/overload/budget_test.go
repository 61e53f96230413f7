package overload

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// TestWithoutAThrottleTheClosedFormHolds: what is left of the capacity after the rejections is served.
func TestWithoutAThrottleTheClosedFormHolds(t *testing.T) {
	for _, c := range []struct{ load, cost float64 }{{2, 0.1}, {5, 0.1}, {2, 0.3}, {5, 0}, {3, 0.2}} {
		t.Run(fmt.Sprintf("%vx at %v", c.load, c.cost), func(t *testing.T) {
			s := steady(time.Minute, mix(c.load))
			s.Cases[0].Phases[0].Disturbed = true
			o := Options{RejectionCost: c.cost}
			if c.cost == 0 {
				o.RejectionCost = -1
			}
			f := play(t, s, policy(t, "none"), 1, o).Figures
			want := (1 - c.cost*c.load) / (1 - c.cost)
			if math.Abs(f.Goodput-want) > 0.01*want {
				t.Errorf("goodput: got %.4f, want %.4f within 1 %%", f.Goodput, want)
			}
			if math.Abs(f.Goodput+f.Waste-1) > 0.002 {
				t.Errorf("got goodput %.4f and waste %.4f, want all work to be one or the other", f.Goodput, f.Waste)
			}
			if math.Abs(f.Sent-c.load) > 0.03*c.load {
				t.Errorf("sent: got %.3f, want %v", f.Sent, c.load)
			}
		})
	}
}

func TestAnAwareBackendServesHigherPrioritiesFirst(t *testing.T) {
	s := steady(time.Minute, mix(2))
	s.Backend, s.Cases[0].Phases[0].Disturbed = Aware, true
	got := play(t, s, policy(t, "none"), 1, Options{}).Figures.Success
	want := Tiers{1, 1, 0.36, 0} // 0.89 are served, High and Important are 0.6
	for p := range got {
		if math.Abs(got[p]-want[p]) > 0.02 {
			t.Errorf("success of %v: got %.3f, want %.2f", throttle.Priority(p), got[p], want[p])
		}
	}
}

// TestCertainRejections: calls that fail for other reasons do not say that the backend is full.
func TestCertainRejections(t *testing.T) {
	outcomes := func(load float64, o Options) (full, failed int) {
		w := &watcher{}
		play(t, row("half of the calls fail", "", fmt.Sprintf("1 load=%v errors=50%%", load))[0], w.policy(), 1, o)
		for _, e := range w.ended {
			switch e.outcome {
			case throttle.Overloaded:
				full++
			case throttle.Rejected:
				failed++
			}
		}
		return full, failed
	}
	if full, failed := outcomes(0.5, Options{Certain: true}); full > 0 || failed < 200 {
		t.Errorf("at half of the capacity: got %d calls that say full, %d that fail, want 0, about 250", full, failed)
	}
	if full, failed := outcomes(4, Options{Certain: true}); full < 800 || failed < 1800 {
		t.Errorf("at four times the capacity: got %d calls that say full, %d that fail, want about 1000, 2000", full, failed)
	}
	if full, failed := outcomes(4, Options{}); full > 0 || failed < 2800 {
		t.Errorf("no rejection is certain: got %d calls that say full, %d that fail, want 0, about 3000", full, failed)
	}
}
