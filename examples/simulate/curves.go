package main

import (
	"image/color"
	"math"
	"slices"
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
	s, phases := of.Series, of.scenario.Cases[0].Phases
	var all []curve
	for p, c := range looks() {
		tier := func(of []overload.Tiers) []float64 {
			numbers := make([]float64, len(of))
			for i := range of {
				numbers[i] = of[i][p]
			}
			return numbers
		}
		c.points = shares(tier(s.Succeeded), tier(s.Offered), phases)
		if len(c.pieces()) > 0 {
			all = append(all, c)
		}
	}
	if len(of.scenario.Tenants) > 0 {
		all = tenantCurves(of)
	}
	goodput := look("goodput, % of what the backend could serve", color.NRGBA{A: 0xff}, 1.2, 4, 4)
	goodput.points = shares(s.Useful, servable(of), phases)
	return append(all, goodput)
}

// tenantCurves returns a curve for the tenant with the most calls, and one for all others together.
func tenantCurves(of result) []curve {
	var offered, succeeded [2][]float64
	for i, others := range of.Series.Modest {
		all := overload.Part{}
		for p, n := range of.Series.Offered[i] {
			all.Offered += n
			all.Succeeded += of.Series.Succeeded[i][p]
		}
		offered[0], succeeded[0] = append(offered[0], others.Offered), append(succeeded[0], others.Succeeded)
		offered[1], succeeded[1] = append(offered[1], all.Offered-others.Offered), append(succeeded[1], all.Succeeded-others.Succeeded)
	}
	all := []curve{looks()[0], looks()[1]}
	for k, name := range []string{"the other tenants", "the largest tenant"} {
		all[k].name, all[k].points = name, shares(succeeded[k], offered[k], of.scenario.Cases[0].Phases)
	}
	return all
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

// servable returns the calls that the backend could have served in each second: the offered calls
// that do not fail for other reasons, and at most its capacity.
func servable(of result) []float64 {
	most, phases := slices.Clone(of.Series.Capacity), of.scenario.Cases[0].Phases
	for i := range most {
		healthy := 0.0
		for p, offered := range of.Series.Offered[i] {
			healthy += offered * healthyShare(phases[phaseAt(phases, i)], p)
		}
		most[i] = min(most[i], healthy)
	}
	return most
}

// healthyShare returns the share of a priority's calls that do not fail for reasons other than
// load.
func healthyShare(p overload.Phase, priority int) float64 {
	return (1 - p.Errors) * (1 - p.Failing[priority])
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

// shares returns the parts in percent of the wholes. Each point is the mean of smoothing seconds of
// the same phase, at the middle of its second. It is NaN if the whole is 0.
func shares(parts, wholes []float64, phases []overload.Phase) plotter.XYs {
	points := make(plotter.XYs, len(parts))
	for i := range parts {
		part, whole := 0.0, 0.0
		for k := max(0, i-smoothing/2); k <= min(len(parts)-1, i+smoothing/2); k++ {
			if phaseAt(phases, k) == phaseAt(phases, i) { // otherwise the curve would change before the phase begins
				part, whole = part+parts[k], whole+wholes[k]
			}
		}
		points[i] = plotter.XY{X: float64(i) + 0.5, Y: math.NaN()}
		if whole > 0 {
			points[i].Y = min(100, 100*part/whole) // calls may be served after the second in which they were offered
		}
	}
	return points
}
