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
	for results, want := range map[int]string{
		4: "first · good, first · useless", 1: "first · good, first · useless (no run)", 0: "", // the last two as after Ctrl-C
	} {
		if r.results = r.results[:results]; titles(r) != want {
			t.Errorf("got %q after %d runs, want %q", titles(r), results, want)
		}
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
