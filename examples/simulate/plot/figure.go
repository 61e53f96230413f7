// Package plot draws curves over time as a grid of small panels that share one legend, into an SVG or a PNG file.
//
// A [Figure] says what is to be seen, nothing about where: the size of the page, the ticks and the places of all texts follow
// from what it holds. [Write] draws it, [CheckPath] tells beforehand whether it could.
package plot

import (
	"errors"
	"fmt"
	"image/color"
	"iter"
	"math"
)

// Figure is one page of panels.
type Figure struct {
	// Title says what is shown.
	Title string
	// Subtitle explains how to read it. It is wrapped to the width of the page.
	Subtitle string
	// Panels are the rows of the grid, from top to bottom. A row may be shorter than the others, and a panel without lines is
	// drawn empty.
	Panels [][]Panel
}

// Panel is one pair of axes. All panels of a column have the same width, and all of a figure the same height.
type Panel struct {
	Title          string
	Lines          []Line
	Spans          []Span
	XLabel, YLabel string  // what the axes count, and in which unit; neighbours that share a label show it once
	XMin, XMax     float64 // what the x axis shows; all points and spans if they are equal
	YMin, YMax     float64 // what the y axis shows; from 0 to 100 if they are equal
}

// Line is one curve. Lines are drawn in order, so that later ones lie above earlier ones. The legend shows every name once, in
// the look that it has where it comes first.
type Line struct {
	Name   string
	Colour color.Color // black if nil
	Width  float64     // in points; 1.5 if 0
	Dash   []float64   // lengths of ink and gap in points; none for a line without gaps
	X, Y   []float64   // a point that is not finite is a gap
}

// Span is a part of the x axis that is shaded, and named above the panel. Neighbours of the same name show it once.
type Span struct {
	Name     string
	From, To float64
}

// errNoPanels is returned for a figure in which there is nothing to draw.
var errNoPanels = errors.New("plot: the figure has no panels")

// columns returns the number of panels in the longest row.
func (f Figure) columns() int {
	columns := 0
	for _, row := range f.Panels {
		columns = max(columns, len(row))
	}
	return columns
}

// validate finds what cannot be drawn.
func (f Figure) validate() error {
	if f.columns() == 0 {
		return errNoPanels
	}
	for _, row := range f.Panels {
		for _, panel := range row {
			if err := panel.validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p Panel) validate() error {
	if !finite(p.XMin) || !finite(p.XMax) || p.XMin > p.XMax {
		return fmt.Errorf("plot: panel %q: the x axis cannot go from %v to %v", p.Title, p.XMin, p.XMax)
	}
	if !finite(p.YMin) || !finite(p.YMax) || p.YMin > p.YMax {
		return fmt.Errorf("plot: panel %q: the y axis cannot go from %v to %v", p.Title, p.YMin, p.YMax)
	}
	for _, line := range p.Lines {
		if len(line.X) != len(line.Y) {
			return fmt.Errorf("plot: panel %q: line %q has %d x and %d y", p.Title, line.Name, len(line.X), len(line.Y))
		}
		for _, length := range line.Dash {
			if !finite(length) || length <= 0 {
				return fmt.Errorf("plot: panel %q: line %q has a dash of length %v: want more than 0", p.Title, line.Name, length)
			}
		}
	}
	for _, span := range p.Spans {
		if !finite(span.From) || !finite(span.To) || span.From > span.To {
			return fmt.Errorf("plot: panel %q: span %q cannot go from %v to %v", p.Title, span.Name, span.From, span.To)
		}
	}
	return nil
}

// empty reports whether there is no point to draw.
func (p Panel) empty() bool {
	for range p.points() {
		return false
	}
	return true
}

// points yields the coordinates of everything that can be drawn.
func (p Panel) points() iter.Seq2[float64, float64] {
	return func(yield func(x, y float64) bool) {
		for _, line := range p.Lines {
			for i, x := range line.X {
				if finite(x) && finite(line.Y[i]) && !yield(x, line.Y[i]) {
					return
				}
			}
		}
	}
}

// xRange returns what the x axis shows.
func (p Panel) xRange() (low, high float64) {
	if p.XMin < p.XMax {
		return p.XMin, p.XMax
	}
	low, high = math.Inf(1), math.Inf(-1)
	for x := range p.points() {
		low, high = min(low, x), max(high, x)
	}
	for _, span := range p.Spans {
		low, high = min(low, span.From), max(high, span.To)
	}
	switch {
	case low > high:
		return 0, 1
	case low == high:
		return low, low + 1
	}
	return low, high
}

// yRange returns what the y axis shows.
func (p Panel) yRange() (low, high float64) {
	if p.YMin < p.YMax {
		return p.YMin, p.YMax
	}
	return 0, 100
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
