package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// TestCurves smooths over three seconds, but not over the beginning of a phase.
func TestCurves(t *testing.T) {
	phases := []overload.Phase{{Length: 2 * time.Second}, {Length: 2 * time.Second}}
	offered := overload.Tiers{10, 0, 10}
	of := result{scenario: overload.Scenario{Cases: []overload.Case{{Phases: phases}}}}
	of.Series = []overload.Second{
		{Offered: offered, Succeeded: offered, Servable: 20, Useful: 20},
		{Offered: offered, Succeeded: overload.Tiers{5, 0, 1}, Servable: 10, Useful: 8.5},
		{Offered: offered, Succeeded: overload.Tiers{0, 0, 11}, Servable: 10, Useful: 10}, // one is late
		{},
		{},
	}
	want := map[string]string{
		"High":   "[{0.5 75} {1.5 75} {2.5 0} {3.5 0} {4.5 NaN}]",
		"Medium": "[{0.5 55} {1.5 55} {2.5 100} {3.5 100} {4.5 NaN}]",
		"goodput, % of what the backend could serve": "[{0.5 95} {1.5 95} {2.5 100} {3.5 100} {4.5 NaN}]",
	}
	for _, c := range curves(of) {
		equals(t, fmt.Sprint(c.points), want[c.name], "%s", c.name)
		delete(want, c.name)
	}
	if len(want) > 0 {
		t.Errorf("got no curves for %v", want)
	}
}

func TestPieces(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name string
		y    []float64
		want string
	}{
		{"nothing", nil, "[]"},
		{"only gaps", []float64{nan, nan}, "[]"},
		{"a lone point", []float64{nan, 7, nan}, "[[{0.5 7} {1.5 7}]]"},
		{"a straight line", []float64{1, 2.2, 3, 4}, "[[{0 1} {3 4}]]"},
		{"a step", []float64{9, 9, 9, 2, 2, 2}, "[[{0 9} {2 9} {3 2} {5 2}]]"},
		{"a peak", []float64{0, 0, 5, 0, 0, 0.2}, "[[{0 0} {1 0} {2 5} {3 0} {5 0.2}]]"},
		{"two pieces", []float64{1, 1, nan, 2, 2, 2}, "[[{0 1} {1 1}] [{3 2} {5 2}]]"},
	}
	for _, tt := range tests {
		c := curve{}
		for x, y := range tt.y {
			c.points = append(c.points, plotter.XY{X: float64(x), Y: y})
		}
		equals(t, fmt.Sprint(c.pieces()), tt.want, "%s", tt.name)
	}
}
