package main

import (
	"image/color"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/examples/simulate/plot"
	"github.com/spillway-go/spillway/throttle"
)

// smoothing is over how many seconds a curve is averaged: one second of a small backend is a few calls.
const smoothing = 3

// lines returns a curve for every priority of which there are calls, and one for the goodput.
func lines(of result) []plot.Line {
	s, phases := of.Series, of.scenario.Cases[0].Phases
	var curves []plot.Line
	for p, look := range looks() {
		column := func(of []overload.Tiers) []float64 { return tier(of, throttle.Priority(p)) }
		look.X, look.Y = shares(column(s.Succeeded), column(s.Offered), phases)
		if slices.ContainsFunc(look.Y, func(y float64) bool { return !math.IsNaN(y) }) {
			curves = append(curves, look)
		}
	}
	goodput := plot.Line{Name: "goodput, % of what the backend could serve", Colour: color.Black, Width: 1.2, Dash: []float64{4, 4}}
	goodput.X, goodput.Y = shares(s.Useful, servable(of), phases)
	return append(curves, goodput)
}

// looks returns what the priorities look like. The colours can be told apart by the colour-blind, the dashes without any colour,
// and the upper lines are thinner, so that they do not hide what they cover.
func looks() []plot.Line {
	return []plot.Line{
		{Name: "High", Colour: color.NRGBA{0x00, 0x72, 0xb2, 0xff}, Width: 2.4},
		{Name: "Important", Colour: color.NRGBA{0xc8, 0x50, 0x00, 0xff}, Width: 2.1, Dash: []float64{9, 3}},
		{Name: "Medium", Colour: color.NRGBA{0x00, 0x80, 0x5c, 0xff}, Width: 1.8, Dash: []float64{6, 2, 1.5, 2}},
		{Name: "Low", Colour: color.NRGBA{0xaa, 0x3f, 0x92, 0xff}, Width: 1.6, Dash: []float64{2, 2}},
	}
}

// tier returns one priority's numbers.
func tier(of []overload.Tiers, p throttle.Priority) []float64 {
	column := make([]float64, len(of))
	for i := range of {
		column[i] = of[i][p]
	}
	return column
}

// servable returns what the backend could have served usefully in each second: of what it was asked, its capacity at most.
func servable(of result) []float64 {
	most, phases := slices.Clone(of.Series.Capacity), of.scenario.Cases[0].Phases
	for i := range most {
		asked := 0.0
		for p, offered := range of.Series.Offered[i] {
			asked += offered * sound(phases[phaseAt(phases, i)], p)
		}
		most[i] = min(most[i], asked)
	}
	return most
}

// sound returns the share of a priority's calls that the backend does not reject for their own reasons.
func sound(p overload.Phase, priority int) float64 {
	return (1 - p.Errors) * (1 - p.Failing[priority])
}

// phaseAt returns the number of the phase in which a second begins; the last one goes on for ever.
func phaseAt(phases []overload.Phase, second int) int {
	at := time.Duration(second) * time.Second
	for i, p := range phases {
		if at < p.Length {
			return i
		}
		at -= p.Length
	}
	return len(phases) - 1
}

// shares returns what percentage of the whole the parts are, each over a few seconds of one phase, and the middles of the
// seconds. It is NaN where there is no whole.
func shares(parts, wholes []float64, phases []overload.Phase) (x, y []float64) {
	for i := range parts {
		part, whole := 0.0, 0.0
		for k := max(0, i-smoothing/2); k <= min(len(parts)-1, i+smoothing/2); k++ {
			if phaseAt(phases, k) == phaseAt(phases, i) { // else a change would be seen before it comes
				part, whole = part+parts[k], whole+wholes[k]
			}
		}
		share := math.NaN()
		if whole > 0 {
			share = min(100, 100*part/whole) // what is served late may be more than what is asked
		}
		x, y = append(x, float64(i)+0.5), append(y, share)
	}
	return x, y
}
