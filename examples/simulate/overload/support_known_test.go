//go:build !race

package overload

import (
	"slices"
	"testing"
)

// bound is the range of a figure.
type bound struct {
	figure    string
	low, high float64
}

// within checks that the figures of a run are in their bounds.
func within(t *testing.T, f Figures, bounds ...bound) {
	t.Helper()
	for _, b := range bounds {
		if got := f.Values()[slices.Index(FigureNames(), b.figure)]; !(got >= b.low && got <= b.high) {
			t.Errorf("%s is %.3f, want %v to %v", b.figure, got, b.low, b.high)
		}
	}
}
