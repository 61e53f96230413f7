package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

// gridOf returns a picture of rows and columns of equal panels. The curve has a gap and lasts 300
// seconds.
func gridOf(rows, columns int) picture {
	c := looks()[0]
	for second := range 300 {
		y := 90.0
		if second >= 100 && second < 120 {
			y = math.NaN()
		}
		c.points = append(c.points, plotter.XY{X: float64(second), Y: y})
	}
	p := picture{title: "A grid & its panels", texts: []string{"All panels are equal."}}
	for row := range rows {
		p.panels = append(p.panels, nil)
		for column := range columns {
			p.panels[row] = append(p.panels[row], panel{
				title: fmt.Sprintf("row%d · column%d", row, column), seconds: 300,
				spans: []span{{"load 5 × capacity", 60, 180}}, curves: []curve{c, {name: "Low", style: looks()[3].style}},
			})
		}
	}
	return p
}

// svgTexts counts what an SVG file shows as text. The test fails unless the file is well-formed.
func svgTexts(t *testing.T, drawn []byte) map[string]int {
	t.Helper()
	if err := xml.Unmarshal(drawn, new(struct{})); err != nil {
		t.Fatalf("not XML: %v", err)
	}
	texts := map[string]int{}
	for _, text := range regexp.MustCompile(`>([^<>]*)</(text|title)>`).FindAllStringSubmatch(string(drawn), -1) {
		texts[strings.TrimSpace(html.UnescapeString(text[1]))]++
	}
	return texts
}

func TestDrawSVG(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 3}, {2, 5}} {
		rows, columns := size[0], size[1]
		p := gridOf(rows, columns)
		last := columns - 1
		if rows > 1 {
			p.panels[rows-1] = p.panels[rows-1][:last] // shorter, as the last row of nine panels
		}
		drawn, err := p.draw()
		if again, err2 := p.draw(); err != nil || err2 != nil || !bytes.Equal(drawn, again) {
			t.Fatalf("got two different files for one picture, errors %v, %v", err, err2)
		}
		got := svgTexts(t, drawn)
		want := map[string]int{
			"A grid & its panels":   2, // to see, and as the title of the file
			"All panels are equal.": 1, "High": 1, "Low": 1,
			"seconds": columns, "% of calls that succeed": rows,
		}
		for _, row := range p.panels {
			for _, panel := range row {
				want[panel.title] = 1
				want["load 5 × capacity"]++
			}
		}
		for text, times := range want {
			if got[text] != times {
				t.Errorf("%d x %d: got %q %d times, want %d", rows, columns, text, got[text], times)
			}
		}
		for what, style := range map[string]string{"shade": "fill:#FDF0D5", "curve": "stroke:#0072B2"} {
			if times := strings.Count(string(drawn), style); times < want["load 5 × capacity"] {
				t.Errorf("%d x %d: got the %s %d times, want one per panel", rows, columns, what, times)
			}
		}
	}
}

func TestCheckPath(t *testing.T) {
	folder := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(folder, "new.svg"):         "<nil>",
		filepath.Join(folder, "new.SVG"):         "<nil>",
		filepath.Join(folder, "new.pdf"):         `extension ".pdf": want .svg`,
		filepath.Join(folder, "new"):             `extension "": want .svg`,
		filepath.Join(folder, "none", "new.svg"): "no such file or directory",
	} {
		if got := fmt.Sprint(checkPath(path)); !strings.Contains(got, want) {
			t.Errorf("%s: got %v, want %q", path, got, want)
		}
	}
}
