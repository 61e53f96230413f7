package main

import (
	"slices"
	"testing"
)

func TestLedger(t *testing.T) {
	type scrape = map[string]float64
	for _, tt := range []struct {
		name    string
		scrapes []scrape
		fell    int
		first   string
	}{
		{"rises", []scrape{{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 2, "b": 3}}, 0, ""},
		{"falls", []scrape{{"a": 5}, {"a": 4}}, 1, "a fell from 5 to 4"},
		{"falls once and goes on", []scrape{{"a": 5}, {"a": 1}, {"a": 2}}, 1, "a fell from 5 to 1"},
		{"comes late", []scrape{{"a": 5}, {"a": 5, "b": 1}}, 0, ""},
		{"is away for a while", []scrape{{"a": 5}, {}, {"a": 6}}, 0, ""},
		{"comes back with less", []scrape{{"a": 5}, {}, {"a": 4}}, 1, "a fell from 5 to 4"},
		{"many", []scrape{{"a": 2, "b": 2, "c": 2, "d": 2, "e": 2, "f": 2}, {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}}, 6, "a fell from 2 to 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l ledger
			for _, s := range tt.scrapes {
				l.note(s)
			}
			if l.fell != tt.fell || len(l.falls) != min(tt.fell, mostFalls) || tt.fell > 0 && l.falls[0] != tt.first {
				t.Errorf("got %d falls, %q want %d, the first %q", l.fell, l.falls, tt.fell, tt.first)
			}
		})
	}
}

func TestWithRest(t *testing.T) {
	told := []string{"a", "b"}
	if got := withRest(told, 2); !slices.Equal(got, told) {
		t.Errorf("all told: got %q", got)
	}
	if got, want := withRest(told, 5), []string{"a", "b", "and 3 more of that"}; !slices.Equal(got, want) {
		t.Errorf("more: got %q want %q", got, want)
	}
}
