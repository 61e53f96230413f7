package overload

import (
	"math"
	"slices"
	"testing"
)

func TestFigureOf(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name   string
		values []float64
		want   Figure
	}{
		{"three", []float64{1, 3, 2}, Figure{2, 1, 1, 3}},
		{"one", []float64{0.7}, Figure{0.7, 0, 0.7, 0.7}},
		{"none", nil, Figure{nan, nan, nan, nan}},
		{"not a number", []float64{1, nan, 2}, Figure{nan, nan, nan, nan}},
		{"once never", []float64{1, inf, 2}, Figure{inf, inf, 1, inf}},
		{"never", []float64{inf, inf}, Figure{inf, 0, inf, inf}},
	}
	for _, tt := range tests {
		got := figureOf(tt.values)
		if !near(got.Mean, tt.want.Mean) || !near(got.Deviation, tt.want.Deviation) || !near(got.Min, tt.want.Min) || !near(got.Max, tt.want.Max) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	one, two := []Second{{Useful: 10}}, []Second{{Useful: 20, Offered: Tiers{2, 4}}}
	s := Summarize([]Outcome{
		{Scenario: "s", Policy: "p", Seed: 7, Figures: Figures{Goodput: 0.5}, Series: one},
		{Scenario: "s", Policy: "p", Seed: 8, Figures: Figures{Goodput: 0.7}, Series: two},
	})
	if s.Scenario != "s" || s.Policy != "p" || !slices.Equal(s.Seeds, []uint64{7, 8}) {
		t.Errorf("got %q, %q, %v", s.Scenario, s.Policy, s.Seeds)
	}
	if got := s.Figures["goodput"]; !near(got.Mean, 0.6) || got.Min != 0.5 || got.Max != 0.7 {
		t.Errorf("goodput: got %+v", got)
	}
	if len(s.Figures) != len(FigureNames()) {
		t.Errorf("%d figures, want %d", len(s.Figures), len(FigureNames()))
	}
	if got := s.Series[0]; got.Useful != 15 || got.Offered != (Tiers{1, 2}) || one[0].Useful != 10 {
		t.Errorf("series: got %+v, of %+v", got, one)
	}
	if empty := Summarize(nil); !math.IsNaN(empty.Figures["goodput"].Mean) || len(empty.Series) != 0 {
		t.Errorf("of nothing: got %+v", empty)
	}
}
