package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// titles returns the titles of a figure's panels, row by row.
func titles(r report) string {
	var rows []string
	for _, row := range figureOf(r).Panels {
		var panels []string
		for _, panel := range row {
			panels = append(panels, panel.Title)
		}
		rows = append(rows, strings.Join(panels, ", "))
	}
	return strings.Join(rows, " | ")
}

func TestFigure(t *testing.T) {
	r := handmade(1, 2)
	r.settings.scenarios[1].Cases = r.settings.scenarios[0].Cases
	r.settings.options.Clients = 9
	if got, want := titles(r), "first · good, first · useless | second · good, second · useless"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f := figureOf(r)
	if want := "(mean of 2 seeds, "; !strings.Contains(f.Subtitle, want) {
		t.Errorf("got subtitle %q, want %q in it", f.Subtitle, want)
	}
	if want := "With 9 clients."; !strings.HasSuffix(f.Subtitle, want) {
		t.Errorf("got subtitle %q, want %q at its end", f.Subtitle, want)
	}
	if panel := f.Panels[0][0]; panel.XMax != 4 || panel.XLabel != "seconds" || panel.YLabel != "% of calls that succeed" {
		t.Errorf("got x to %v %q and y %q, want 4 seconds and %% of calls that succeed", panel.XMax, panel.XLabel, panel.YLabel)
	}
}

func TestFigureLeavesOut(t *testing.T) {
	r := handmade(1) // its second scenario has two cases
	if got, want := titles(r), "first · good, first · useless"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := unplottable(r.settings.scenarios); !strings.HasPrefix(got, "second: a run has many cases") {
		t.Errorf("got %q, want a word about second", got)
	}
	if got := unplottable(r.settings.scenarios[:1]); got != "" {
		t.Errorf("got %q, want nothing about first", got)
	}
	r.results = r.results[:1] // as after Ctrl-C
	if got, want := titles(r), "first · good, first · useless"; got != want {
		t.Errorf("got %q after one run, want %q", got, want)
	}
	if panel := figureOf(r).Panels[0][1]; len(panel.Lines) > 0 || len(panel.Spans) != 1 {
		t.Errorf("got %d lines in the panel of a run that was not completed, want none", len(panel.Lines))
	}
	r.results = nil
	if got := titles(r); got != "" {
		t.Errorf("got %q after no run, want nothing", got)
	}
}

func TestFigureWrapsRows(t *testing.T) {
	for policies, want := range map[int]string{1: "1", 5: "5", 6: "3 3", 9: "5 4", 11: "4 4 3"} {
		r := handmade(1)
		r.settings.policies = make([]overload.Policy, policies)
		r.settings.policies[policies-1] = r.results[0].policy
		var got []string
		for _, row := range figureOf(r).Panels {
			got = append(got, fmt.Sprint(len(row)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d policies: got rows of %v, want %s", policies, got, want)
		}
	}
}

func TestLines(t *testing.T) {
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
		"High":   "[0.5 1.5 2.5 3.5] [75 75 0 0]",
		"Medium": "[0.5 1.5 2.5 3.5] [55 55 100 100]",
		"goodput, % of what the backend could serve": "[0.5 1.5 2.5 3.5] [95 95 100 100]", // 28.5 of 30, then 10 of the 10 that are not High
	}
	for _, line := range lines(of) {
		if got := fmt.Sprint(line.X, " ", line.Y); got != want[line.Name] {
			t.Errorf("%s: got %s, want %q", line.Name, got, want[line.Name])
		}
		delete(want, line.Name)
	}
	if len(want) > 0 {
		t.Errorf("got no lines for %v", want)
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
		t.Run(tt.name, func(t *testing.T) {
			x, y := shares(parts, wholes, tt.phases)
			if got := fmt.Sprint(y); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got, want := fmt.Sprint(x), "[0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5]"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	calm := overload.Phase{Length: time.Minute, Load: overload.Tiers{0.8}, Capacity: 1}
	disturbed := func(load, capacity float64, failing overload.Tiers) overload.Phase {
		return overload.Phase{
			Length: time.Minute, Load: overload.Tiers{load / 2, load / 2}, Capacity: capacity, Failing: failing, Disturbed: true,
		}
	}
	none := overload.Tiers{}
	over, less := disturbed(5, 1, none), disturbed(0.5, 1, none)
	tests := []struct {
		name   string
		phases []overload.Phase
		want   string
	}{
		{"calm", []overload.Phase{calm, calm}, "[]"},
		{"overload", []overload.Phase{calm, over, calm}, "[{load 5 × capacity 60 120}]"},
		{"to the end", []overload.Phase{calm, over}, "[{load 5 × capacity 60 120}]"},
		{"from the beginning", []overload.Phase{over, calm}, "[{load 5 × capacity 0 60}]"},
		{"bursts", []overload.Phase{over, less, over, less, calm}, "[{load 5 and 0.5 × capacity 0 240}]"},
		{"twice", []overload.Phase{over, calm, over}, "[{load 5 × capacity 0 60} {load 5 × capacity 120 180}]"},
		{"brownout", []overload.Phase{calm, disturbed(0.8, 0.1, none)}, "[{capacity 10 % 60 120}]"},
		{"outage", []overload.Phase{calm, disturbed(0.8, 0, none)}, "[{capacity 0 % 60 120}]"},
		{"failing", []overload.Phase{calm, disturbed(0.8, 1, overload.Tiers{0.5})}, "[{High fails for its own reason 60 120}]"},
		{"all", []overload.Phase{disturbed(2, 0.5, overload.Tiers{0, 1})}, "[{load 2 × capacity, capacity 50 %, Important fails for its own reason 0 60}]"},
		{"nothing", []overload.Phase{less}, "[{disturbance 0 60}]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(spans(tt.phases)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestLooksCanBeToldApart measures the contrast of each priority's colour with white as web pages do: 3 is what they
// want of graphics. No two priorities have the same dashes.
func TestLooksCanBeToldApart(t *testing.T) {
	var dashes []string
	for _, look := range looks() {
		if got := 1.05 / (luminance(look.Colour) + 0.05); got < 3 {
			t.Errorf("%s: got a contrast of %.1f with white, want 3 at least", look.Name, got)
		}
		if dash := fmt.Sprint(look.Dash); slices.Contains(dashes, dash) {
			t.Errorf("%s: got dashes %s again", look.Name, dash)
		} else {
			dashes = append(dashes, dash)
		}
	}
	if len(dashes) != len(overload.Tiers{}) {
		t.Errorf("got %d looks, want one for each of %d priorities", len(dashes), len(overload.Tiers{}))
	}
}

// luminance is the relative luminance of a colour in sRGB.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(channel uint32) float64 {
		x := float64(channel) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}
