package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// svgTexts fails unless the text is well-formed XML with an svg element, and returns what is written in it.
func svgTexts(t *testing.T, drawn []byte) (texts []string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(drawn))
	inside, root := "", ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local
			if root == "" {
				root = inside
			}
		case xml.EndElement:
			inside = ""
		case xml.CharData:
			if inside == "text" || inside == "title" {
				texts = append(texts, string(token))
			}
		}
	}
	if root != "svg" {
		t.Errorf("got root element %q, want svg", root)
	}
	return texts
}

func TestWriteSVG(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 2}, {3, 4}, {8, 4}} {
		path := filepath.Join(t.TempDir(), "grid.svg")
		if err := Write(path, gridOf(size[0], size[1])); err != nil {
			t.Fatal(err)
		}
		drawn, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(svgTexts(t, drawn), "\n") + "\n"
		wants := map[string]int{
			"A grid & its panels\n": 2, // to see, and as the title of the file
			"High\n":                1, "Low\n": 1,
			"seconds\n":           size[1],
			"% of calls\n":        size[0],
			"load 5 × capacity\n": size[0] * size[1],
		}
		for row := range size[0] {
			for column := range size[1] {
				wants[fmt.Sprintf("row%d · column%d\n", row, column)] = 1
			}
		}
		for text, want := range wants {
			if got := strings.Count(all, text); got != want {
				t.Errorf("%d x %d: got %q %d times, want %d", size[0], size[1], text, got, want)
			}
		}
	}
}

func TestWritePNG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grid.PNG")
	if err := Write(path, gridOf(2, 2)); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := picture.Bounds().Dx(); got != 1600 {
		t.Errorf("got %d pixels wide, want 1600", got)
	}
	const blue, shaded, white = "0 0 255", "253 240 213", "255 255 255"
	l := layOut(newPen(nil), gridOf(2, 2))
	for row := range 2 {
		for column := range 2 {
			a := newAxes(gridOf(2, 2).Panels[row][column], l.inside(row, column))
			at := func(x, y float64) string {
				return colourAt(picture, float64(a.x(x))/72*96, float64(l.height-a.y(y))/72*96)
			}
			for _, tt := range []struct {
				what string
				x, y float64
				want string
			}{{"line", 45, 90, blue}, {"span", 135, 50, shaded}, {"background", 45, 50, white}, {"gap", 105, 90, shaded}, {"lone point", 110, 90, blue}} {
				if got := at(tt.x, tt.y); got != tt.want {
					t.Errorf("panel %d, %d: got %s for the %s, want %s", row, column, got, tt.what, tt.want)
				}
			}
		}
	}
}

func colourAt(picture image.Image, x, y float64) string {
	r, g, b, _ := picture.At(int(x), int(y)).RGBA()
	return fmt.Sprint(r>>8, g>>8, b>>8)
}

func TestDrawIsRepeatable(t *testing.T) {
	for _, extension := range []string{".svg", ".png"} {
		var first, second bytes.Buffer
		if err := errors.Join(Draw(&first, extension, gridOf(1, 2)), Draw(&second, extension, gridOf(1, 2))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: got two different files for one figure", extension)
		}
	}
}

// TestDrawOddPanels draws what leaves nothing, or one point, or too much to draw.
func TestDrawOddPanels(t *testing.T) {
	panel := gridOf(1, 1).Panels[0][0]
	outside := panel
	outside.XMin, outside.XMax, outside.YMin, outside.YMax = 50, 70, 100, 200
	figure := Figure{Panels: [][]Panel{
		{{}, {Title: "one", Lines: []Line{{Name: "a", X: []float64{1}, Y: []float64{2}}}}},
		{},
		{outside, panel, {Title: strings.Repeat("long ", 100), XLabel: strings.Repeat("x", 500), YLabel: strings.Repeat("y", 500)}},
	}}
	for _, extension := range []string{".svg", ".png"} {
		var drawn bytes.Buffer
		if err := Draw(&drawn, extension, figure); err != nil {
			t.Fatal(err)
		}
		if extension == ".svg" {
			if got := strings.Count(drawn.String(), ">nothing to show<"); got != 2 {
				t.Errorf("got %d panels marked as empty, want 2", got)
			}
		}
	}
}

func TestDrawRefuses(t *testing.T) {
	if err := Draw(io.Discard, ".gif", gridOf(1, 1)); err == nil || !strings.Contains(err.Error(), "want .svg or .png") {
		t.Errorf("got %v for .gif, want an error that names .svg and .png", err)
	}
	path := filepath.Join(t.TempDir(), "old.svg")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, Figure{}); !errors.Is(err, errNoPanels) {
		t.Errorf("got %v for an empty figure, want %v", err, errNoPanels)
	}
	if kept, _ := os.ReadFile(path); string(kept) != "old" {
		t.Errorf("got %q in the file after a figure that cannot be drawn, want what it held", kept)
	}
}

func TestCheckPath(t *testing.T) {
	folder := t.TempDir()
	existing := filepath.Join(folder, "existing.svg")
	if err := os.WriteFile(existing, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, want string }{
		{"new", filepath.Join(folder, "new.svg"), ""},
		{"capitals", filepath.Join(folder, "new.PNG"), ""},
		{"existing", existing, ""},
		{"other extension", filepath.Join(folder, "new.pdf"), "extension .pdf: want .svg or .png"},
		{"no extension", filepath.Join(folder, "new"), "no extension: want .svg or .png"},
		{"empty", "", "no extension"},
		{"no folder", filepath.Join(folder, "none", "new.svg"), "there is no folder " + filepath.Join(folder, "none")},
		{"file as folder", filepath.Join(existing, "new.svg"), "not a"},
		{"folder as file", filepath.Join(folder, "folder.png"), "is not a file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fmt.Sprint(CheckPath(tt.path))
			if tt.want == "" && got != "<nil>" || !strings.Contains(got, tt.want) {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
	if kept, _ := os.ReadFile(existing); string(kept) != "kept" {
		t.Errorf("got %q in the file that was checked, want what it held", kept)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 2 {
		t.Errorf("got %v in the folder, want only what was there", entries)
	}
}

func TestCheckPathWithoutPermission(t *testing.T) {
	folder := t.TempDir()
	paths := []string{filepath.Join(folder, "a.svg"), filepath.Join(folder, "b.svg")}
	if err := os.WriteFile(paths[0], nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		paths = []string{"/proc/a.svg"} // root may write nearly everywhere
	}
	for _, path := range paths {
		if err := CheckPath(path); err == nil {
			t.Errorf("got no error for %s, want one", path)
		}
	}
}

// TestNothingLeavesItsPanel draws lines and a span that go far beyond their panel, and looks for their colours elsewhere.
func TestNothingLeavesItsPanel(t *testing.T) {
	blue := color.NRGBA{B: 0xff, A: 0xff}
	figure := Figure{Panels: [][]Panel{{{XMax: 10, Spans: []Span{{"", -50, 200}}, Lines: []Line{
		{Colour: blue, X: []float64{-10, 20}, Y: []float64{-100, 200}},
		{Colour: blue, X: []float64{-10, 20}, Y: []float64{200, -100}},
		{Colour: blue, X: []float64{5}, Y: []float64{130}}, // alone, above
	}}}}}
	var drawn bytes.Buffer
	if err := Draw(&drawn, ".png", figure); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&drawn)
	if err != nil {
		t.Fatal(err)
	}
	l := layOut(newPen(nil), figure)
	inside := l.inside(0, 0)
	found := make(map[string]int)
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			drawn := colourAt(picture, float64(x), float64(y))
			room := map[string]vg.Length{"0 0 255": 2, "253 240 213": spanRoom}[drawn]
			if room == 0 {
				continue
			}
			found[drawn]++
			at := vg.Point{X: vg.Length(x) / 96 * 72, Y: l.height - vg.Length(y)/96*72}
			if at.X < inside.Min.X-2 || at.X > inside.Max.X+2 || at.Y < inside.Min.Y-2 || at.Y > inside.Max.Y+room {
				t.Fatalf("got %s at %v, want it only inside %v", drawn, at, inside)
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("got colours %v, want the lines' and the span's", found)
	}
}
