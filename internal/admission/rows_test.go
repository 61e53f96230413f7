package main

import (
	"slices"
	"testing"
	"time"
)

// TestRowsTakeSixteenMinutes adds up the loads, the capacities to measure, and a second for each process.
func TestRowsTakeSixteenMinutes(t *testing.T) {
	total := time.Duration(0)
	shapes := map[shape]bool{}
	for _, r := range allRows() {
		for _, p := range r.load(100) {
			total += time.Duration(len(r.subjects)) * p.length
		}
		total += time.Duration(len(r.subjects)) * time.Second
		shapes[r.shape.alone()] = true
		if !r.rateOfAll || !r.goodOfAll {
			shapes[r.shape] = true
		}
	}
	for s := range shapes {
		_, length := s.calibration()
		total += length + time.Second/10
	}
	if total > 16*time.Minute+15*time.Second {
		t.Errorf("got %v want about 16m", total)
	}
	t.Logf("about %v", total)
}

func TestRowsAreWhole(t *testing.T) {
	var names []string
	for _, r := range allRows() {
		if slices.Contains(names, r.name) || len(r.bounds) == 0 || !slices.Contains(r.subjects, subjectOurs) {
			t.Errorf("%q: want a name of its own, bounds and our protection", r.name)
		}
		names = append(names, r.name)
		if len(r.name) > nameWidth {
			t.Errorf("%q: got %d characters want at most %d", r.name, len(r.name), nameWidth)
		}
		for _, b := range r.bounds {
			if b.what == "good / none" && r.subjects[0] != subjectNone {
				t.Errorf("%q: want none first, because a bound compares with it", r.name)
			}
		}
		if r.withLength(time.Hour).length == time.Hour != (r.phases == nil) {
			t.Errorf("%q: only steady loads have another length", r.name)
		}
	}
	if len(names) != 36 {
		t.Errorf("got %d rows want 36", len(names))
	}
}
