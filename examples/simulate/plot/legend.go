package plot

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

const (
	sampleWidth vg.Length = 38 // of the piece of line before a name
	sampleGap   vg.Length = 6
	entryGap    vg.Length = 22
)

// An entry is one line of the legend and where it stands.
type entry struct {
	line Line
	x    vg.Length
}

// legend collects the names of all lines and arranges them in rows no wider than most.
func (p pen) legend(f Figure, most vg.Length) [][]entry {
	var rows [][]entry
	var known []string
	x := vg.Length(0)
	for _, panels := range f.Panels {
		for _, panel := range panels {
			for _, line := range panel.Lines {
				if line.Name == "" || slices.Contains(known, line.Name) {
					continue
				}
				known = append(known, line.Name)
				width := sampleWidth + sampleGap + p.width(legendStyle(), line.Name)
				if len(rows) == 0 || x+width > most {
					rows, x = append(rows, nil), 0
				}
				last := len(rows) - 1
				rows[last] = append(rows[last], entry{line, x})
				x += width + entryGap
			}
		}
	}
	return rows
}

// drawLegend draws one row on the base line y.
func (p pen) drawLegend(row []entry, y vg.Length) {
	for _, e := range row {
		x, half := margin+e.x, y+legendStyle().size*0.33
		p.stroke(e.line.lineStyle(), []vg.Point{{X: x, Y: half}, {X: x + sampleWidth, Y: half}})
		p.write(legendStyle(), left, vg.Point{X: x + sampleWidth + sampleGap, Y: y}, e.line.Name)
	}
}
