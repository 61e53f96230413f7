package main

import (
	"slices"
	"testing"
	"time"
)

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
