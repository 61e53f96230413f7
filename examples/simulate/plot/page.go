package plot

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// Lengths in points; 1200 of them are 1600 pixels.
const (
	margin      vg.Length = 18
	gutter      vg.Length = 42 // left of the first column: the label of the y axis and its ticks
	columnGap   vg.Length = 22
	rowGap      vg.Length = 16
	titleRoom   vg.Length = 17 // above a panel: its title
	spanRoom    vg.Length = 13 // above a panel: the names of its spans
	tickRoom    vg.Length = 13 // below a panel
	labelRoom   vg.Length = 14 // below the last panel of a column: the label of the x axis
	leastColumn vg.Length = 205
)

// A page knows where everything stands.
type page struct {
	width, height vg.Length
	panel         vg.Point // width and height of a panel's inside
	gridTop       vg.Length
	subtitle      []string
	legend        [][]entry
}

func titleStyle() style      { return style{size: 18, bold: true, colour: color.Black} }
func subtitleStyle() style   { return style{size: 11, colour: color.Gray{0x40}} }
func legendStyle() style     { return style{size: 11.5, colour: color.Black} }
func panelTitleStyle() style { return style{size: 11.5, bold: true, colour: color.Black} }
func labelStyle() style      { return style{size: 10, colour: color.Gray{0x30}} }
func tickStyle() style       { return style{size: 9, colour: color.Gray{0x40}} }
func spanStyle() style       { return style{size: 9, colour: color.NRGBA{0x7a, 0x4a, 0x00, 0xff}} }

// layOut finds the size of the page and of its parts.
func layOut(p pen, f Figure) page {
	columns, rows := vg.Length(f.columns()), vg.Length(len(f.Panels))
	l := page{width: 1200}
	if columns == 1 {
		l.width = 840
	}
	around := 2*margin + gutter + (columns-1)*columnGap
	l.panel.X = max(leastColumn, (l.width-around)/columns)
	l.width = around + columns*l.panel.X
	tallest := vg.Length(260)
	if rows > 3 {
		tallest = 165
	}
	l.panel.Y = min(max(0.43*l.panel.X, 130), tallest)
	l.subtitle = p.wrap(subtitleStyle(), f.Subtitle, l.width-2*margin)
	l.legend = p.legend(f, l.width-2*margin)
	l.height = l.header() + rows*(titleRoom+spanRoom+l.panel.Y+tickRoom) + (rows-1)*rowGap + labelRoom + margin
	l.gridTop = l.height - l.header()
	return l
}

// header returns the height of what stands above the grid.
func (l page) header() vg.Length {
	return margin + titleHeight + vg.Length(len(l.subtitle))*subtitleHeight + vg.Length(len(l.legend))*legendHeight + rowGap
}

const (
	titleHeight    vg.Length = 24
	subtitleHeight vg.Length = 14.5
	legendHeight   vg.Length = 20
)

// inside returns the area within the axes of a panel.
func (l page) inside(row, column int) vg.Rectangle {
	x := margin + gutter + vg.Length(column)*(l.panel.X+columnGap)
	y := l.gridTop - titleRoom - spanRoom - vg.Length(row)*(titleRoom+spanRoom+l.panel.Y+tickRoom+rowGap)
	return vg.Rectangle{Min: vg.Point{X: x, Y: y - l.panel.Y}, Max: vg.Point{X: x + l.panel.X, Y: y}}
}

// drawPage draws everything.
func drawPage(p pen, f Figure, l page) {
	p.fill(color.White, vg.Rectangle{Max: vg.Point{X: l.width, Y: l.height}})
	y := l.height - margin - titleStyle().size
	title, text := p.fit(titleStyle(), f.Title, l.width-2*margin)
	p.write(title, left, vg.Point{X: margin, Y: y}, text)
	for _, line := range l.subtitle {
		y -= subtitleHeight
		p.write(subtitleStyle(), left, vg.Point{X: margin, Y: y - 5}, line)
	}
	y -= 8
	for _, row := range l.legend {
		y -= legendHeight
		p.drawLegend(row, y)
	}
	for row, panels := range f.Panels {
		for column, panel := range panels {
			p.drawPanel(panel, l.inside(row, column))
			if column == 0 || panels[column-1].YLabel != panel.YLabel {
				p.drawYLabel(panel, l.inside(row, column), column == 0)
			}
			if row == len(f.Panels)-1 || column >= len(f.Panels[row+1]) {
				p.drawXLabel(panel, l.inside(row, column))
			}
		}
	}
}
