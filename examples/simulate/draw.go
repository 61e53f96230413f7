package main

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Lengths in points.
const (
	width      vg.Length = 900
	margin     vg.Length = 16
	titleSize  vg.Length = 18
	textSize   vg.Length = 11
	tickSize   vg.Length = 9
	titleStep  vg.Length = 26 // from the top of the title to the top of the next line
	textStep   vg.Length = 16
	legendGap  vg.Length = 8
	legendStep vg.Length = 26
	around     vg.Length = 50 // the height of a panel's title, ticks and label
	columnGap  vg.Length = 14
	rowGap     vg.Length = 10
)

// top is the end of the y axis. The name of the disturbance is above 100 %.
const top = 112

// checkPath returns an error if path has another extension, or a folder that does not exist.
func checkPath(path string) error {
	if extension := filepath.Ext(path); !strings.EqualFold(extension, ".svg") {
		return fmt.Errorf("extension %q: want .svg", extension)
	}
	_, err := os.Stat(filepath.Dir(path))
	return err
}

func (p picture) write(path string) error {
	drawn, err := p.draw()
	if err != nil {
		return err
	}
	return os.WriteFile(path, drawn, 0o644)
}

// draw returns the picture as SVG. The same picture always gives the same bytes.
func (p picture) draw() ([]byte, error) {
	plot.DefaultFont.Variant, plotter.DefaultFont.Variant = "Sans", "Sans"
	inside := max(110, min(0.43*width/vg.Length(len(p.panels[0])), 170))
	head := titleStep + vg.Length(len(p.texts))*textStep + legendGap + legendStep
	height := head + vg.Length(len(p.panels))*(inside+around+rowGap) + 2*margin
	page := vgsvg.New(width, height)
	c := draw.New(page)
	c.SetColor(color.White)
	c.Fill(c.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	p.drawHead(c)
	if err := p.drawPanels(draw.Crop(c, 0, 0, 0, -head)); err != nil {
		return nil, err
	}
	var drawn bytes.Buffer
	if _, err := page.WriteTo(&drawn); err != nil {
		return nil, err
	}
	// Liberation Sans is rare outside Linux. The other fonts have the same widths.
	text := strings.ReplaceAll(drawn.String(), "Liberation Sans", "Liberation Sans, Arial, Helvetica, sans-serif")
	return []byte(strings.Replace(text, "<g ", "<title>"+html.EscapeString(p.title)+"</title>\n<g ", 1)), nil
}

// drawHead draws the title, the lines below it, and the legend.
func (p picture) drawHead(c draw.Canvas) {
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.ThumbnailWidth = true, true, 32
	style := legend.TextStyle
	style.YAlign = draw.YTop
	style.Font.Size, style.Font.Weight = titleSize, font.WeightBold
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, p.title)
	c.Max.Y -= titleStep
	style.Font.Size, style.Font.Weight, style.Color = textSize, font.WeightNormal, color.Gray{0x40}
	for _, text := range p.texts {
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, text)
		c.Max.Y -= textStep
	}
	c.Max.Y -= legendGap
	for _, curve := range p.legend() {
		entry := legend
		entry.Add(" "+curve.name, &plotter.Line{LineStyle: curve.style})
		entry.Draw(c)
		legend.XOffs += entry.ThumbnailWidth + entry.TextStyle.Width("  "+curve.name) + columnGap
	}
}

func (p picture) legend() []curve {
	var found []curve
	for _, panel := range slices.Concat(p.panels...) {
		for _, c := range panel.curves {
			if !slices.ContainsFunc(found, func(known curve) bool { return known.name == c.name }) {
				found = append(found, c)
			}
		}
	}
	return found
}

// drawPanels draws the rows below each other. Only the outer axes have labels.
func (p picture) drawPanels(c draw.Canvas) error {
	rows, columns := len(p.panels), len(p.panels[0])
	plots := make([][]*plot.Plot, rows)
	for i, row := range p.panels {
		plots[i] = make([]*plot.Plot, columns)
		for k, panel := range row {
			drawn, err := panel.plot()
			if err != nil {
				return err
			}
			if k == 0 {
				drawn.Y.Label.Text = "% of calls that succeed"
			}
			if i == rows-1 || k >= len(p.panels[i+1]) {
				drawn.X.Label.Text = "seconds"
			}
			plots[i][k] = drawn
		}
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: columnGap, PadY: rowGap}
	for i, row := range plot.Align(plots, tiles, c) {
		for k, tile := range row {
			if plots[i][k] != nil {
				plots[i][k].Draw(tile)
			}
		}
	}
	return nil
}

// plot returns a panel without the labels of its axes.
func (p panel) plot() (*plot.Plot, error) {
	drawn := plot.New()
	drawn.BackgroundColor = nil
	drawn.Title.Text, drawn.Title.Padding, drawn.Title.TextStyle.Font.Weight = p.title, 2, font.WeightBold
	for _, axis := range []*plot.Axis{&drawn.X, &drawn.Y} {
		axis.Padding, axis.Color, axis.Tick.Color, axis.Tick.Length = 0, color.Gray{0x80}, color.Gray{0x80}, 3
		axis.Tick.Label.Font.Size, axis.Label.TextStyle.Font.Size = tickSize, textSize
	}
	for _, s := range p.spans {
		shade, err := plotter.NewPolygon(plotter.XYs{{X: s.from}, {X: s.to}, {X: s.to, Y: top}, {X: s.from, Y: top}})
		if err != nil {
			return nil, err
		}
		shade.Color, shade.Width = color.NRGBA{0xfd, 0xf0, 0xd5, 0xff}, 0
		name, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: (s.from + s.to) / 2, Y: 103}}, Labels: []string{s.name}})
		if err != nil {
			return nil, err
		}
		style := &name.TextStyle[0]
		style.Font.Size, style.XAlign, style.Color = tickSize, draw.XCenter, color.NRGBA{0x7a, 0x4a, 0x00, 0xff}
		drawn.Add(shade, name)
	}
	grid := plotter.NewGrid()
	thin := draw.LineStyle{Color: color.Gray{0xdd}, Width: 0.6}
	grid.Horizontal, grid.Vertical = thin, thin
	drawn.Add(grid)
	for _, c := range p.curves {
		for _, piece := range c.pieces() {
			line, err := plotter.NewLine(piece)
			if err != nil {
				return nil, err
			}
			line.LineStyle = c.style
			drawn.Add(line)
		}
	}
	drawn.X.Min, drawn.X.Max, drawn.X.Tick.Marker = 0, p.seconds, every(60, p.seconds)
	drawn.Y.Min, drawn.Y.Max, drawn.Y.Tick.Marker = 0, top, every(20, 100)
	return drawn, nil
}

// every returns a tick for each multiple of step up to last.
func every(step, last float64) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for value := 0.0; value <= last; value += step {
		ticks = append(ticks, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'f', -1, 64)})
	}
	return ticks
}
