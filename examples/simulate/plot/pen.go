package plot

import (
	"image/color"
	"math"
	"sort"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A pen draws on a page. Its lengths are in points, and y grows upwards.
type pen struct {
	canvas vg.Canvas
	fonts  *font.Cache
}

func newPen(canvas vg.Canvas) pen {
	return pen{canvas, font.NewCache(liberation.Collection())}
}

// A style is how a text looks.
type style struct {
	size   vg.Length
	bold   bool
	colour color.Color
}

// An anchor is which part of a text stands at the place given: its left end, its middle or its right end.
type anchor float64

const (
	left   anchor = 0
	middle anchor = 0.5
	right  anchor = 1
)

func (p pen) face(s style) font.Face {
	weight := xfont.WeightNormal
	if s.bold {
		weight = xfont.WeightBold
	}
	return p.fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}, s.size)
}

func (p pen) width(s style, text string) vg.Length {
	face := p.face(s)
	return face.Width(text)
}

// write draws a text on the base line that goes through at.
func (p pen) write(s style, a anchor, at vg.Point, text string) {
	if text == "" {
		return
	}
	at.X -= p.width(s, text) * vg.Length(a)
	p.canvas.SetColor(s.colour)
	p.canvas.FillString(p.face(s), at, text)
}

// writeUp draws a text that is read from below, its middle at at.
func (p pen) writeUp(s style, at vg.Point, text string) {
	p.canvas.Push()
	p.canvas.Translate(at)
	p.canvas.Rotate(math.Pi / 2)
	p.write(s, middle, vg.Point{}, text)
	p.canvas.Pop()
}

// fit returns a look and a wording in which the text is no wider than most: as it is, else smaller down to three quarters, else
// cut off.
func (p pen) fit(s style, text string, most vg.Length) (style, string) {
	if width := p.width(s, text); width > most {
		s.size *= max(0.75, most/width)
	}
	if p.width(s, text) <= most*1.001 {
		return s, text
	}
	letters := []rune(text)
	cut := func(n int) string { return strings.TrimRight(string(letters[:n]), " ,·") + "…" }
	tooMany := sort.Search(len(letters), func(n int) bool { return p.width(s, cut(n)) > most })
	return s, cut(max(0, tooMany-1))
}

// wrap breaks a text into lines no wider than most, as far as its words allow.
func (p pen) wrap(s style, text string, most vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && p.width(s, lines[last]+" "+word) <= most {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// fill paints a rectangle.
func (p pen) fill(colour color.Color, area vg.Rectangle) {
	p.canvas.SetColor(colour)
	p.canvas.Fill(area.Path())
}

// stroke draws a line through the points, and a dot if it is only one.
func (p pen) stroke(s draw.LineStyle, points []vg.Point) {
	var path vg.Path
	if len(points) == 1 {
		path.Move(points[0].Add(vg.Point{X: s.Width}))
		path.Arc(points[0], s.Width, 0, 2*math.Pi)
		p.canvas.SetColor(s.Color)
		p.canvas.Fill(path)
		return
	}
	for i, point := range points {
		if i == 0 {
			path.Move(point)
		} else {
			path.Line(point)
		}
	}
	p.canvas.SetColor(s.Color)
	p.canvas.SetLineWidth(s.Width)
	p.canvas.SetLineDash(s.Dashes, 0)
	p.canvas.Stroke(path)
}

// lineStyle translates the looks of a line.
func (l Line) lineStyle() draw.LineStyle {
	s := draw.LineStyle{Color: l.Colour, Width: vg.Length(l.Width)}
	if s.Color == nil {
		s.Color = color.Black
	}
	if s.Width == 0 {
		s.Width = 1.5
	}
	for _, length := range l.Dash {
		s.Dashes = append(s.Dashes, vg.Length(length))
	}
	return s
}
