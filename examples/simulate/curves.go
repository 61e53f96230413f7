package main

import (
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// smoothing is the number of seconds over which a curve is averaged. A small backend has only a few
// calls per second.
const smoothing = 3

// curve is one line of a panel. Its points are one second apart. Y is NaN in a gap.
type curve struct {
	name   string
	style  draw.LineStyle
	points plotter.XYs
}

// curves returns a curve for every priority with calls, and one for the goodput.
func curves(of result) []curve {
	var all []curve
	for p, c := range looks() {
		c.points = shares(of, func(s overload.Second) overload.Part {
			return overload.Part{Offered: s.Offered[p], Succeeded: s.Succeeded[p]}
		})
		if len(c.pieces()) > 0 {
			all = append(all, c)
		}
	}
	if len(of.scenario.Tenants) > 0 {
		all = tenantCurves(of)
	}
	goodput := look("goodput, % of what the backend could serve", color.NRGBA{A: 0xff}, 1.2, 4, 4)
	goodput.points = shares(of, func(s overload.Second) overload.Part {
		return overload.Part{Offered: s.Servable, Succeeded: s.Useful}
	})
	return append(all, goodput)
}

// tenantCurves returns a curve for the tenant with the most calls, and one for all others together.
func tenantCurves(of result) []curve {
	others, largest := looks()[0], looks()[1]
	others.name, largest.name = "the other tenants", "the largest tenant"
	others.points = shares(of, func(s overload.Second) overload.Part { return s.Modest })
	largest.points = shares(of, func(s overload.Second) overload.Part {
		part := overload.Part{Offered: -s.Modest.Offered, Succeeded: -s.Modest.Succeeded}
		for p, offered := range s.Offered {
			part.Offered += offered
			part.Succeeded += s.Succeeded[p]
		}
		return part
	})
	return []curve{others, largest}
}

// looks returns a curve without points for each priority. The colours are distinct for colour-blind
// readers, and the dashes without colours. Lines that are drawn later are thinner, so that the
// lines below them are visible.
func looks() []curve {
	return []curve{
		look("High", color.NRGBA{0x00, 0x72, 0xb2, 0xff}, 2.4),
		look("Important", color.NRGBA{0xc8, 0x50, 0x00, 0xff}, 2.1, 9, 3),
		look("Medium", color.NRGBA{0x00, 0x80, 0x5c, 0xff}, 1.8, 6, 2, 1.5, 2),
		look("Low", color.NRGBA{0xaa, 0x3f, 0x92, 0xff}, 1.6, 2, 2),
	}
}

func look(name string, colour color.NRGBA, width vg.Length, dashes ...vg.Length) curve {
	return curve{name: name, style: draw.LineStyle{Color: colour, Width: width, Dashes: dashes}}
}

// tolerance is the largest distance of a line from the points that it leaves out, in percentage
// points. Without those points a file is half as large.
const tolerance = 0.25

// pieces returns the parts between the gaps, with as few points as the tolerance allows. A single
// point becomes a line of one second.
func (c curve) pieces() []plotter.XYs {
	var all []plotter.XYs
	for i := 0; i < len(c.points); i++ {
		begin := i
		for i < len(c.points) && !math.IsNaN(c.points[i].Y) {
			i++
		}
		switch piece := c.points[begin:i]; len(piece) {
		case 0:
		case 1:
			x, y := piece[0].X, piece[0].Y
			all = append(all, plotter.XYs{{X: x - 0.5, Y: y}, {X: x + 0.5, Y: y}})
		default:
			all = append(all, thin(piece))
		}
	}
	return all
}

// thin leaves out points that are within the tolerance of a straight line between other points.
func thin(points plotter.XYs) plotter.XYs {
	first, last := points[0], points[len(points)-1]
	farthest, most := 0, tolerance
	for i, p := range points {
		onLine := first.Y + (last.Y-first.Y)*(p.X-first.X)/(last.X-first.X)
		if distance := math.Abs(p.Y - onLine); distance > most {
			farthest, most = i, distance
		}
	}
	if farthest == 0 {
		return plotter.XYs{first, last}
	}
	return append(thin(points[:farthest+1]), thin(points[farthest:])[1:]...)
}

// phaseAt returns the index of the phase in which a second begins. Seconds after the end belong to
// the last phase.
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

// shares returns the successes in percent of the calls. Each point is the mean of smoothing seconds of
// the same phase, at the middle of its second. It is NaN if there are no calls.
func shares(of result, calls func(overload.Second) overload.Part) plotter.XYs {
	phases, points := of.scenario.Cases[0].Phases, make(plotter.XYs, len(of.Series))
	for i := range points {
		sum := overload.Part{}
		for k := max(0, i-smoothing/2); k <= min(len(points)-1, i+smoothing/2); k++ {
			if phaseAt(phases, k) == phaseAt(phases, i) { // otherwise the curve would change before the phase begins
				sum.Add(calls(of.Series[k]), 1)
			}
		}
		points[i] = plotter.XY{X: float64(i) + 0.5, Y: math.NaN()}
		if sum.Offered > 0 {
			points[i].Y = min(100, 100*sum.Succeeded/sum.Offered) // calls may be served after the second in which they were offered
		}
	}
	return points
}
