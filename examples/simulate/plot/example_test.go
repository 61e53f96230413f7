package plot_test

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/examples/simulate/plot"
)

func Example() {
	figure := plot.Figure{
		Title:    "A backend that is down for a minute",
		Subtitle: "Share of the calls that succeed.",
		Panels: [][]plot.Panel{{{
			Title:  "outage · tiered",
			XLabel: "seconds",
			YLabel: "% of calls that succeed",
			Spans:  []plot.Span{{Name: "outage", From: 60, To: 120}},
			Lines: []plot.Line{{
				Name:   "High",
				Colour: color.NRGBA{0x00, 0x72, 0xb2, 0xff},
				X:      []float64{0, 60, 61, 120, 128, 180},
				Y:      []float64{100, 100, 0, 0, 100, 100},
			}},
		}}},
	}
	folder, err := os.MkdirTemp("", "plot")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "outage.svg")
	fmt.Println("can be written:", plot.CheckPath(path) == nil)
	fmt.Println("written:", plot.Write(path, figure) == nil)
	fmt.Println(plot.CheckPath("outage.gif"))
	// Output:
	// can be written: true
	// written: true
	// extension .gif: want .svg or .png
}
