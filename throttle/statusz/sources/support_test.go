package sources

import (
	"math"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/statusz"
)

func figure(t *testing.T, s statusz.Status, prefix string) float64 {
	t.Helper()
	for _, f := range s.Figures {
		if strings.HasPrefix(f.Name, prefix) {
			return f.Value
		}
	}
	t.Errorf("figure %q: got none of %v", prefix, s.Figures)
	return math.NaN()
}

// want fails the test unless a status has this kind and name, state, level and figures.
func want(t *testing.T, got statusz.Status, source, state string, level statusz.Level, figures map[string]float64) {
	t.Helper()
	if got.Kind+" "+got.Name != source || got.State != state || got.Level != level {
		t.Errorf("got %s %s, %s, %v want %s, %s, %v", got.Kind, got.Name, got.State, got.Level, source, state, level)
	}
	for name, value := range figures {
		if f := figure(t, got, name); f != value && !(math.IsNaN(f) && math.IsNaN(value)) {
			t.Errorf("%s: got %v want %v", name, f, value)
		}
	}
}
