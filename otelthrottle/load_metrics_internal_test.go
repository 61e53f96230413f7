package otelthrottle

import (
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// TestLoadStates wants a series for each word.
func TestLoadStates(t *testing.T) {
	states := loadStates()
	for _, h := range []throttle.ReceivedStats{
		{Known: true, Calm: true}, {Known: true}, {Known: true, Overloaded: true}, {Known: true, Doubted: true},
	} {
		if !slices.Contains(states[:], h.String()) {
			t.Errorf("%v has no series", h)
		}
	}
	var unknown throttle.ReceivedStats
	if slices.Contains(states[:], unknown.String()) {
		t.Errorf("%v has a series", unknown)
	}
}
