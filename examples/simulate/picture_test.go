package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// titles returns the titles of a picture's panels, row by row.
func titles(r report) string {
	var rows []string
	for _, row := range pictureOf(r).panels {
		var panels []string
		for _, panel := range row {
			panels = append(panels, panel.title)
		}
		rows = append(rows, strings.Join(panels, ", "))
	}
	return strings.Join(rows, " | ")
}

func TestPicture(t *testing.T) {
	r := handmade(1, 2)
	r.settings.scenarios[1].Cases = r.settings.scenarios[0].Cases
	r.settings.options.Clients = 9
	if got, want := titles(r), "first · good, first · useless | second · good, second · useless"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p := pictureOf(r)
	if got := p.texts; len(got) != 2 || !strings.Contains(got[0], "(mean of 2 seeds, ") || got[1] != "With 9 clients." {
		t.Errorf("got %q, want the seeds and the clients", got)
	}
	if got := p.panels[0][0]; got.seconds != 4 || len(got.spans) != 1 || len(got.curves) == 0 {
		t.Errorf("got %+v, want 4 seconds, a disturbance and curves", got)
	}
	r.settings.scenarios = r.settings.scenarios[:1]
	if got, want := pictureOf(r).texts[0], "first: too many calls"; got != want {
		t.Errorf("got %q for one scenario, want %q", got, want)
	}
}

func TestPictureLeavesOut(t *testing.T) {
	r := handmade(1) // its second scenario has two cases
	if got, want := titles(r), "first · good, first · useless"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := unplottable(r.settings.scenarios); !strings.HasPrefix(got, "second: a run has many cases") {
		t.Errorf("got %q, want a word about second", got)
	}
	if got := unplottable(r.settings.scenarios[:1]); got != "" {
		t.Errorf("got %q, want nothing about first", got)
	}
	r.results = r.results[:1] // as after Ctrl-C
	if got, want := titles(r), "first · good, first · useless (no run)"; got != want {
		t.Errorf("got %q after one run, want %q", got, want)
	}
	if panel := pictureOf(r).panels[0][1]; len(panel.curves) > 0 || len(panel.spans) != 1 {
		t.Errorf("got %d curves in the panel of a run that was not completed, want none", len(panel.curves))
	}
	r.results = nil
	if got := titles(r); got != "" {
		t.Errorf("got %q after no run, want nothing", got)
	}
}

func TestPictureWrapsRows(t *testing.T) {
	for policies, want := range map[int]string{1: "1", 5: "5", 6: "3 3", 9: "5 4", 11: "4 4 3"} {
		r := handmade(1)
		r.settings.policies = make([]overload.Policy, policies)
		r.settings.policies[policies-1] = r.results[0].policy
		var got []string
		for _, row := range pictureOf(r).panels {
			got = append(got, fmt.Sprint(len(row)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d policies: got rows of %v, want %s", policies, got, want)
		}
	}
}
