package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	equals(t, titles(r), "first · good, first · useless | second · good, second · useless", "titles")
	p := pictureOf(r)
	if got := p.texts; len(got) != 2 || !strings.Contains(got[0], "(mean of 2 seeds, ") || got[1] != "With 9 clients." {
		t.Errorf("got %q, want the seeds and the clients", got)
	}
	if got := p.panels[0][0]; got.seconds != 4 || len(got.spans) != 1 || len(got.curves) == 0 {
		t.Errorf("got %+v, want 4 seconds, a disturbance and curves", got)
	}
	r.settings.scenarios = r.settings.scenarios[:1]
	equals(t, pictureOf(r).texts[0], "first: too many calls", "one scenario")
}

func TestPictureLeavesOut(t *testing.T) {
	r := handmade(1) // its second scenario has two cases
	for results, want := range map[int]string{
		4: "first · good, first · useless", 1: "first · good, first · useless (no run)", 0: "", // the last two as after Ctrl-C
	} {
		r.results = r.results[:results]
		equals(t, titles(r), want, "after %d runs", results)
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
		equals(t, strings.Join(got, " "), want, "%d policies: rows", policies)
	}
}

func TestSpans(t *testing.T) {
	calm := overload.Phase{Length: time.Minute, Load: overload.Tiers{0.8}, Capacity: 1}
	disturbed := func(load, capacity float64, failing overload.Tiers) overload.Phase {
		return overload.Phase{
			Length: time.Minute, Load: overload.Tiers{load / 2, load / 2}, Capacity: capacity, Failing: failing, Disturbed: true,
		}
	}
	none := overload.Tiers{}
	over, less := disturbed(5, 1, none), disturbed(0.5, 1, none)
	tests := []struct {
		name   string
		phases []overload.Phase
		want   string
	}{
		{"calm", []overload.Phase{calm, calm}, "[]"},
		{"overload", []overload.Phase{calm, over, calm}, "[{load 5 × capacity 60 120}]"},
		{"to the end", []overload.Phase{calm, over}, "[{load 5 × capacity 60 120}]"},
		{"from the beginning", []overload.Phase{over, calm}, "[{load 5 × capacity 0 60}]"},
		{"bursts", []overload.Phase{over, less, over, less, calm}, "[{load 5 and 0.5 × capacity 0 240}]"},
		{"twice", []overload.Phase{over, calm, over}, "[{load 5 × capacity 0 60} {load 5 × capacity 120 180}]"},
		{"brownout", []overload.Phase{calm, disturbed(0.8, 0.1, none)}, "[{capacity 10 % 60 120}]"},
		{"outage", []overload.Phase{calm, disturbed(0.8, 0, none)}, "[{capacity 0 % 60 120}]"},
		{"failing", []overload.Phase{calm, disturbed(0.8, 1, overload.Tiers{0.5})}, "[{High fails for its own reason 60 120}]"},
		{"all", []overload.Phase{disturbed(2, 0.5, overload.Tiers{0, 1})}, "[{load 2 × capacity, capacity 50 %, Important fails for its own reason 0 60}]"},
		{"nothing", []overload.Phase{less}, "[{disturbance 0 60}]"},
	}
	for _, tt := range tests {
		equals(t, fmt.Sprint(spans(tt.phases)), tt.want, "%s", tt.name)
	}
}
