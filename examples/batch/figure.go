package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/plot"
)

// How fine the plot is: calls that would lie on one another are drawn once.
const (
	fineX, fineY = 400, 130
	intervals    = 100 // in which calls are counted
)

// figure is what the backoff has done: the delay of each call, and how many there were.
func (s *story) figure() plot.Figure {
	return plot.Figure{
		Title: fmt.Sprintf("One backoff finds the rate of a table, for %d workers", s.settings.workers),
		Subtitle: "Above: the delay at each call, which is the gap between two calls of all workers together. Below: what came of it. " +
			"The table doubles under load, is halved again, and at last bears anything, so that only the bucket holds.",
		Panels: [][]plot.Panel{{s.delays()}, {s.rates()}},
	}
}

// length is how many seconds the backoff was used.
func (s *story) length() float64 {
	return s.tape.calls[len(s.tape.calls)-1].at.Sub(s.begun).Seconds()
}

func blue() color.Color { return color.NRGBA{0x00, 0x72, 0xb2, 0xff} }
func red() color.Color  { return color.NRGBA{0xd5, 0x1c, 0x1c, 0xff} }

// delays draws a dot for each call.
func (s *story) delays() plot.Panel {
	longest := time.Duration(0)
	for _, c := range s.tape.calls {
		longest = max(longest, c.delay)
	}
	unit := float64(time.Millisecond)
	p := plot.Panel{
		Title: "Delay at each call", XLabel: "seconds", YLabel: "delay, milliseconds", Spans: s.spans(), XMax: s.length(),
		YMax: max(1, 1.05*float64(longest)/unit),
	}
	succeeded := plot.Line{Name: "succeeded", Colour: blue(), Width: 0.8}
	throttled := plot.Line{Name: "throttled", Colour: red(), Width: 1.6}
	type cell struct {
		x, y      int
		throttled bool
	}
	drawn := map[cell]bool{}
	for _, c := range s.tape.calls {
		x, y := c.at.Sub(s.begun).Seconds(), float64(c.delay)/unit
		at := cell{int(x / p.XMax * fineX), int(y / p.YMax * fineY), c.throttled}
		if drawn[at] {
			continue
		}
		drawn[at] = true
		line := &succeeded
		if c.throttled {
			line = &throttled
		}
		line.X, line.Y = append(line.X, x, math.NaN()), append(line.Y, y, math.NaN())
	}
	p.Lines = []plot.Line{succeeded, throttled}
	return p
}

// rates draws how many calls there were in a second, beside the capacity.
func (s *story) rates() plot.Panel {
	width := s.length() / intervals
	served := plot.Line{Name: "succeeded", Colour: blue()}
	refused := plot.Line{Name: "throttled", Colour: red()}
	for i := range intervals {
		x := (float64(i) + 0.5) * width
		served.X, refused.X = append(served.X, x), append(refused.X, x)
	}
	served.Y, refused.Y = make([]float64, intervals), make([]float64, intervals)
	for _, c := range s.tape.calls {
		i := min(int(c.at.Sub(s.begun).Seconds()/width), intervals-1)
		if c.throttled {
			refused.Y[i] += 1 / width
		} else {
			served.Y[i] += 1 / width
		}
	}
	limit := s.capacities()
	most := spending * float64(s.settings.capacity)
	for _, y := range slices.Concat(served.Y, refused.Y) {
		most = max(most, y)
	}
	return plot.Panel{
		Title: "Calls a second", XLabel: "seconds", YLabel: "calls a second", Spans: s.spans(), XMax: s.length(),
		YMax: 1.05 * most, Lines: []plot.Line{limit, served, refused},
	}
}

// capacities draws what the table bears, or the account.
func (s *story) capacities() plot.Line {
	l := plot.Line{Name: "what the table bears, or the account may spend", Colour: color.Gray{0x60}, Width: 1.2, Dash: []float64{5, 3}}
	x := 0.0
	for _, r := range s.rows {
		if r.span != "" {
			l.X, l.Y = append(l.X, x, x+r.stretch.took.Seconds()), append(l.Y, r.capacity, r.capacity)
			x += r.stretch.took.Seconds()
		}
	}
	return l
}

// spans shades every second act, and names all.
func (s *story) spans() (spans []plot.Span) {
	from, name := 0.0, ""
	x := 0.0
	end := func() {
		if name == "" {
			return
		}
		if len(spans)%2 == 0 { // not shaded, but named
			spans = append(spans, plot.Span{Name: name, From: (from + x) / 2, To: (from + x) / 2})
		} else {
			spans = append(spans, plot.Span{Name: name, From: from, To: x})
		}
	}
	for _, r := range s.rows {
		if r.span == "" {
			continue
		}
		if r.span != name {
			end()
			from, name = x, r.span
		}
		x += r.stretch.took.Seconds()
	}
	end()
	return spans
}
