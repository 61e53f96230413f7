package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

func TestCurves(t *testing.T) {
	phases := []overload.Phase{
		{Length: 2 * time.Second, Load: overload.Tiers{1, 0, 1}, Capacity: 1},
		{Length: 2 * time.Second, Load: overload.Tiers{1, 0, 1}, Capacity: 1, Failing: overload.Tiers{1}},
	}
	offered := overload.Tiers{10, 0, 10}
	of := result{scenario: overload.Scenario{Cases: []overload.Case{{Phases: phases}}}}
	of.Series = overload.Series{
		Offered:   []overload.Tiers{offered, offered, offered, {}},
		Succeeded: []overload.Tiers{offered, {5, 0, 1}, {0, 0, 10}, {}},
		Capacity:  []float64{100, 10, 100, 100},
		Useful:    []float64{20, 8.5, 10, 0},
	}
	want := map[string]string{
		"High":   "[{0.5 75} {1.5 75} {2.5 0} {3.5 0}]",
		"Medium": "[{0.5 55} {1.5 55} {2.5 100} {3.5 100}]",
		"goodput, % of what the backend could serve": "[{0.5 95} {1.5 95} {2.5 100} {3.5 100}]", // 28.5 of 30, then 10 of the 10 that are not High
	}
	for _, c := range curves(of) {
		if got := fmt.Sprint(c.points); got != want[c.name] {
			t.Errorf("%s: got %s, want %q", c.name, got, want[c.name])
		}
		delete(want, c.name)
	}
	if len(want) > 0 {
		t.Errorf("got no curves for %v", want)
	}
}

func TestShares(t *testing.T) {
	parts, wholes := []float64{0, 1, 2, 9, 5, 0, 0, 7, 1}, []float64{0, 2, 2, 3, 5, 0, 0, 0, 0}
	of := func(lengths ...time.Duration) []overload.Phase {
		var phases []overload.Phase
		for _, length := range lengths {
			phases = append(phases, overload.Phase{Length: length * time.Second})
		}
		return phases
	}
	tests := []struct {
		name   string
		phases []overload.Phase
		want   string
	}{
		{"one phase", of(9), "[50 75 100 100 100 100 NaN NaN NaN]"}, // 9 of 3, and 7 and 1 of none, are late
		{"two phases", of(2, 7), "[50 50 100 100 100 100 NaN NaN NaN]"},
		{"three phases", of(1, 1, 3), "[NaN 50 100 100 100 100 NaN NaN NaN]"},
		{"a second each", of(1, 1, 1, 1, 1, 1, 1, 1, 1), "[NaN 50 100 100 100 NaN NaN NaN NaN]"},
	}
	for _, tt := range tests {
		var shown []float64
		for i, p := range shares(parts, wholes, tt.phases) {
			shown = append(shown, p.Y)
			if want := float64(i) + 0.5; p.X != want {
				t.Errorf("%s: got x %v, want %v", tt.name, p.X, want)
			}
		}
		if got := fmt.Sprint(shown); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
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
		if got := fmt.Sprint(c.pieces()); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
