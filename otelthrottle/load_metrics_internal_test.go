package otelthrottle

import (
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func TestLoadState(t *testing.T) {
	for word, h := range map[string]throttle.HeardStats{
		"":           {Doubted: true},
		"calm":       {Known: true, Calm: true},
		"mixed":      {Known: true},
		"overloaded": {Known: true, Overloaded: true},
		"doubted":    {Known: true, Doubted: true},
	} {
		if got := loadState(&h); got != word {
			t.Errorf("%+v: got %q want %q", h, got, word)
		}
		if states := loadStates(); word != "" && !slices.Contains(states[:], word) {
			t.Errorf("%s has no series", word)
		}
	}
}
