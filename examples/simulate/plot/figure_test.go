package plot

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"
)

// grid returns a figure of so many panels, each named by its place, with a line that has gaps.
func gridOf(rows, columns int) Figure {
	f := Figure{Title: "A grid & its panels", Subtitle: "Every panel shows the same."}
	for row := range rows {
		f.Panels = append(f.Panels, nil)
		for column := range columns {
			panel := Panel{
				Title:  fmt.Sprintf("row%d · column%d", row, column),
				XLabel: "seconds",
				YLabel: "% of calls",
				Spans:  []Span{{Name: "load 5 × capacity", From: 60, To: 180}},
				Lines: []Line{
					{Name: "High", Colour: color.NRGBA{B: 0xff, A: 0xff}, Width: 2},
					{Name: "Low", Colour: color.NRGBA{R: 0xff, A: 0xff}, Dash: []float64{2, 2}},
				},
			}
			for second := range 300 {
				high := 90.0
				if second >= 100 && second < 120 && second != 110 {
					high = math.NaN()
				}
				panel.Lines[0].X, panel.Lines[0].Y = append(panel.Lines[0].X, float64(second)), append(panel.Lines[0].Y, high)
				panel.Lines[1].X, panel.Lines[1].Y = append(panel.Lines[1].X, float64(second)), append(panel.Lines[1].Y, 10)
			}
			f.Panels[row] = append(f.Panels[row], panel)
		}
	}
	return f
}

func TestValidate(t *testing.T) {
	panel := func(p Panel) Figure { p.Title = "p"; return Figure{Panels: [][]Panel{{p}}} }
	tests := []struct {
		name   string
		figure Figure
		want   string // part of the error; empty for none
	}{
		{"no rows", Figure{}, "no panels"},
		{"empty rows", Figure{Panels: [][]Panel{{}, {}}}, "no panels"},
		{"lengths", panel(Panel{Lines: []Line{{Name: "a", X: []float64{1, 2}, Y: []float64{1}}}}), `panel "p": line "a" has 2 x and 1 y`},
		{"dash", panel(Panel{Lines: []Line{{Name: "a", Dash: []float64{2, 0}}}}), "dash of length 0: want more than 0"},
		{"x axis backwards", panel(Panel{XMin: 2, XMax: 1}), "the x axis cannot go from 2 to 1"},
		{"y axis backwards", panel(Panel{YMin: 2, YMax: 1}), "the y axis cannot go from 2 to 1"},
		{"y axis infinite", panel(Panel{YMax: math.Inf(1)}), "the y axis cannot go from 0 to +Inf"},
		{"span backwards", panel(Panel{Spans: []Span{{"s", 2, 1}}}), `span "s" cannot go from 2 to 1`},
		{"span without end", panel(Panel{Spans: []Span{{"s", 2, math.NaN()}}}), `span "s" cannot go from 2 to NaN`},
		{"empty panel", panel(Panel{}), ""},
		{"empty line", panel(Panel{Lines: []Line{{Name: "a"}}}), ""},
		{"ragged rows", Figure{Panels: [][]Panel{{}, {{}, {}}, {{}}}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fmt.Sprint(tt.figure.validate())
			if tt.want == "" && got != "<nil>" || !strings.Contains(got, tt.want) {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}

func TestRanges(t *testing.T) {
	nan := math.NaN()
	line := func(x, y []float64) []Line { return []Line{{X: x, Y: y}} }
	tests := []struct {
		name      string
		panel     Panel
		low, high float64
	}{
		{"nothing", Panel{}, 0, 1},
		{"only gaps", Panel{Lines: line([]float64{5, nan}, []float64{nan, 1})}, 0, 1},
		{"one point", Panel{Lines: line([]float64{5}, []float64{1})}, 5, 6},
		{"points", Panel{Lines: line([]float64{5, 9, 20}, []float64{1, 2, nan})}, 5, 9},
		{"points and spans", Panel{Lines: line([]float64{5, 9}, []float64{1, 2}), Spans: []Span{{"", 1, 30}}}, 1, 30},
		{"given", Panel{XMin: -1, XMax: 4, Lines: line([]float64{5, 9}, []float64{1, 2})}, -1, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if low, high := tt.panel.xRange(); low != tt.low || high != tt.high {
				t.Errorf("got %v to %v, want %v to %v", low, high, tt.low, tt.high)
			}
		})
	}
	if low, high := (Panel{}).yRange(); low != 0 || high != 100 {
		t.Errorf("got y from %v to %v, want 0 to 100", low, high)
	}
	if low, high := (Panel{YMin: 1, YMax: 3}).yRange(); low != 1 || high != 3 {
		t.Errorf("got y from %v to %v, want 1 to 3", low, high)
	}
}
