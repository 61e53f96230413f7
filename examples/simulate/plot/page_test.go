package plot

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestPanelsDoNotOverlap looks at grids of all sizes: the room of a panel is its inside and what is written around it.
func TestPanelsDoNotOverlap(t *testing.T) {
	for rows := 1; rows <= 9; rows++ {
		for columns := 1; columns <= 9; columns++ {
			l := layOut(newPen(nil), gridOf(rows, columns))
			for row := range rows {
				for column := range columns {
					inside := l.inside(row, column)
					if inside.Size().X < 200 || inside.Size().Y < 100 {
						t.Errorf("%d x %d: got a panel of %v, want at least 200 x 100", rows, columns, inside.Size())
					}
					if right := l.width - inside.Max.X; right < margin-0.01 {
						t.Errorf("%d x %d: got %v right of column %d, want the margin", rows, columns, right, column)
					}
					if below := inside.Min.Y - tickRoom - labelRoom; below < margin-0.01 {
						t.Errorf("%d x %d: got %v below row %d, want the margin", rows, columns, below, row)
					}
					if next := l.inside(row+1, column); next.Max.Y+spanRoom+titleRoom > inside.Min.Y-tickRoom {
						t.Errorf("%d x %d: row %d overlaps row %d", rows, columns, row, row+1)
					}
					if next := l.inside(row, column+1); next.Min.X-inside.Max.X < columnGap-0.01 {
						t.Errorf("%d x %d: column %d overlaps column %d", rows, columns, column, column+1)
					}
				}
			}
		}
	}
}

func TestFit(t *testing.T) {
	p := newPen(nil)
	s := style{size: 10}
	width := p.width(s, "over5 · tiered")
	tests := []struct {
		name string
		most vg.Length
		size vg.Length // what is wanted
		text string
	}{
		{"room", width + 1, 10, "over5 · tiered"},
		{"a little smaller", width * 0.8, 8, "over5 · tiered"},
		{"cut off", width * 0.4, 7.5, "over…"},
		{"no room", 0, 7.5, "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, text := p.fit(s, "over5 · tiered", tt.most)
			if got.size != tt.size || text != tt.text {
				t.Errorf("got %q in size %v, want %q in size %v", text, got.size, tt.text, tt.size)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	p := newPen(nil)
	s := style{size: 10}
	most := p.width(s, "shaded is the")
	got := strings.Join(p.wrap(s, "shaded  is the disturbancethatiswide and more", most), "|")
	if want := "shaded is the|disturbancethatiswide|and more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := p.wrap(s, "", most); len(got) != 0 {
		t.Errorf("got %q for no text, want no lines", got)
	}
}

func TestLegendShowsNamesOnce(t *testing.T) {
	p := newPen(nil)
	f := gridOf(2, 3)
	f.Panels[1][2].Lines = append(f.Panels[1][2].Lines, Line{Name: "goodput"}, Line{})
	names := func(most vg.Length) string {
		var rows []string
		for _, row := range p.legend(f, most) {
			var names []string
			for _, e := range row {
				names = append(names, e.line.Name)
			}
			rows = append(rows, strings.Join(names, " "))
		}
		return strings.Join(rows, "|")
	}
	if got, want := names(1000), "High Low goodput"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := names(200), "High Low|goodput"; got != want {
		t.Errorf("got %q on a narrow page, want %q", got, want)
	}
}
