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
