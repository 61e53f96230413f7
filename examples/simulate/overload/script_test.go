package overload

import (
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestPhasesOf(t *testing.T) {
	got := phasesOf("60; 2!+ load=5 errors=20% capacity=0.5 low=30%; 1! slower=3 active=40% mix=medium")
	want := []Phase{
		{Length: time.Minute, Load: mix(usualLoad), Capacity: 1},
		{Length: 2 * time.Second, Load: mix(5), Capacity: 0.5, Errors: 0.2, Failing: Tiers{throttle.Low: 0.3}, Disturbed: true, Counted: true},
		{Length: time.Second, Load: Tiers{throttle.Medium: usualLoad}, Capacity: 1, Slower: 3, Active: 0.4, Disturbed: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestIsolationLate: only the priority that fails makes calls at first.
func TestIsolationLate(t *testing.T) {
	c := scenario(t, "isolation-late").Cases[0]
	for i, want := range []Tiers{{throttle.High: 0.1}, {throttle.High: 0.1, throttle.Low: 0.1}} {
		if p := c.Phases[i]; p.Load != want || p.Failing != (Tiers{throttle.High: 0.3}) {
			t.Errorf("phase %d: got %+v want load %v, of which High fails", i, p, want)
		}
	}
}
