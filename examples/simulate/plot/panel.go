package plot

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours of what is behind the lines.
func shade() color.Color { return color.NRGBA{0xfd, 0xf0, 0xd5, 0xff} }
func grid() color.Color  { return color.Gray{0xdd} }
func frame() color.Color { return color.Gray{0x80} }

// axes translate a panel's values into places on the page.
type axes struct {
	area                   vg.Rectangle
	xLow, xHigh, yLow, yHi float64
}

func newAxes(panel Panel, area vg.Rectangle) axes {
	a := axes{area: area}
	a.xLow, a.xHigh = panel.xRange()
	a.yLow, a.yHi = panel.yRange()
	return a
}

func (a axes) x(value float64) vg.Length {
	return a.area.Min.X + a.area.Size().X*vg.Length((value-a.xLow)/(a.xHigh-a.xLow))
}

func (a axes) y(value float64) vg.Length {
	return a.area.Min.Y + a.area.Size().Y*vg.Length((value-a.yLow)/(a.yHi-a.yLow))
}

// within moves a place left or right of the axes to their edge.
func (a axes) within(x vg.Length) vg.Length { return min(max(x, a.area.Min.X), a.area.Max.X) }

// drawPanel draws a panel with its title, its ticks and the names of its spans, but without the labels of its axes.
func (p pen) drawPanel(panel Panel, area vg.Rectangle) {
	a := newAxes(panel, area)
	title, text := p.fit(panelTitleStyle(), panel.Title, area.Size().X)
	p.write(title, left, vg.Point{X: area.Min.X, Y: area.Max.Y + spanRoom + 4}, text)
	p.drawSpans(panel.Spans, a)
	p.drawTicks(a)
	for _, line := range panel.Lines {
		p.drawLine(line, a)
	}
	if panel.empty() {
		p.write(labelStyle(), middle, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}, "nothing to show")
	}
}

// drawSpans shades the spans, with a tab above the panel so that no line hides the name.
func (p pen) drawSpans(spans []Span, a axes) {
	for i := 0; i < len(spans); {
		first := spans[i]
		low, high := a.x(first.From), a.x(first.To)
		for ; i < len(spans) && spans[i].Name == first.Name; i++ {
			low, high = min(low, a.x(spans[i].From)), max(high, a.x(spans[i].To))
			p.fill(shade(), vg.Rectangle{
				Min: vg.Point{X: a.within(a.x(spans[i].From)), Y: a.area.Min.Y},
				Max: vg.Point{X: a.within(a.x(spans[i].To)), Y: a.area.Max.Y + spanRoom},
			})
		}
		s, text := p.fit(spanStyle(), first.Name, a.area.Size().X)
		half := p.width(s, text) / 2
		x := min(max((a.within(low)+a.within(high))/2, a.area.Min.X+half), a.area.Max.X-half)
		p.write(s, middle, vg.Point{X: x, Y: a.area.Max.Y + 3.5}, text)
	}
}

// drawTicks draws the grid, the frame and the numbers below. Those to the left belong to the label of the y axis.
func (p pen) drawTicks(a axes) {
	thin := draw.LineStyle{Color: grid(), Width: 0.6}
	for _, y := range ticks(a.yLow, a.yHi, 6) {
		p.stroke(thin, []vg.Point{{X: a.area.Min.X, Y: a.y(y)}, {X: a.area.Max.X, Y: a.y(y)}})
	}
	for _, x := range p.xTicks(a) {
		p.stroke(thin, []vg.Point{{X: a.x(x), Y: a.area.Min.Y}, {X: a.x(x), Y: a.area.Max.Y}})
		p.write(tickStyle(), middle, vg.Point{X: a.x(x), Y: a.area.Min.Y - tickStyle().size - 2}, tickLabel(x))
	}
	edge := draw.LineStyle{Color: frame(), Width: 0.8}
	p.stroke(edge, []vg.Point{{X: a.area.Min.X, Y: a.area.Max.Y}, a.area.Min, {X: a.area.Max.X, Y: a.area.Min.Y}})
}

// xTicks returns as many ticks as leave room between their labels.
func (p pen) xTicks(a axes) []float64 {
	label := max(p.width(tickStyle(), tickLabel(a.xLow)), p.width(tickStyle(), tickLabel(a.xHigh)))
	return ticks(a.xLow, a.xHigh, min(12, int(a.area.Size().X/(1.8*label+4))))
}

// drawYLabel draws the numbers left of a panel and, if there is room for it, what they count.
func (p pen) drawYLabel(panel Panel, area vg.Rectangle, room bool) {
	a := newAxes(panel, area)
	for _, y := range ticks(a.yLow, a.yHi, 6) {
		p.write(tickStyle(), right, vg.Point{X: area.Min.X - 4, Y: a.y(y) - tickStyle().size*0.35}, tickLabel(y))
	}
	if room {
		s, text := p.fit(labelStyle(), panel.YLabel, area.Size().Y+titleRoom)
		p.writeUp(s, vg.Point{X: area.Min.X - gutter + 9, Y: (area.Min.Y + area.Max.Y) / 2}, text)
	}
}

// drawXLabel draws what the numbers below a panel count.
func (p pen) drawXLabel(panel Panel, area vg.Rectangle) {
	s, text := p.fit(labelStyle(), panel.XLabel, area.Size().X)
	at := vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: area.Min.Y - tickRoom - labelStyle().size}
	p.write(s, middle, at, text)
}

// drawLine draws a line without its gaps and without what is outside the axes.
func (p pen) drawLine(line Line, a axes) {
	var pieces [][]vg.Point
	gap := true
	for i, x := range line.X {
		if !finite(x) || !finite(line.Y[i]) {
			gap = true
			continue
		}
		if gap {
			pieces, gap = append(pieces, nil), false
		}
		last := len(pieces) - 1
		pieces[last] = append(pieces[last], vg.Point{X: a.x(x), Y: a.y(line.Y[i])})
	}
	clip := draw.Canvas{Canvas: p.canvas, Rectangle: a.area}
	for _, piece := range pieces {
		if len(piece) == 1 && clip.Contains(piece[0]) {
			p.stroke(line.lineStyle(), piece)
		}
		for _, part := range clip.ClipLinesXY(piece) {
			p.stroke(line.lineStyle(), part)
		}
	}
}
