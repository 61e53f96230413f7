package main

import (
	"strings"
	"testing"
)

func TestBound_judge(t *testing.T) {
	atMost := bound{under: floorS, limit: 1.5, stretch: 1.35}
	atLeast := bound{limit: 1.7}
	for _, tt := range []struct {
		bound    bound
		measured float64
		want     string
	}{
		{atMost, 1.2, "met, stretch too"},
		{atMost, 1.4, "met"},
		{atMost, 1.6, "MISSED"},
		{atMost, 0, "not measured"},
		{atLeast, 1.8, "met"},
		{atLeast, 1.6, "MISSED"},
		{bound{}, 1.6, "to compare"},
	} {
		if got := tt.bound.judge(tt.measured); got != tt.want {
			t.Errorf("%+v measured %v: got %q want %q", tt.bound, tt.measured, got, tt.want)
		}
	}
}

// TestFindings_Verdict checks that a speed-up may be a multiple of another one instead.
func TestFindings_Verdict(t *testing.T) {
	measured := func(name string, x float64) *result {
		return &result{subject: &subject{name: name, pair: true}, serial: []float64{10 * x}, paired: []float64{10}}
	}
	c := speedUp("x", "HTTP client, Transport", 1.7, "HTTP client, bare base in memory")
	for bare, want := range map[float64]string{0: ">= 1.70 MISSED", 1.6: ">= 1.44 met", 1.8: ">= 1.62 MISSED", 2: ">= 1.70 MISSED"} {
		row := newFindings([]*result{measured("HTTP client, Transport", 1.5), measured("HTTP client, bare base in memory", bare)}).verdict(c)
		if got := row[3] + " " + row[4]; row[2] != "1.50" || got != want {
			t.Errorf("1.5 beside %v: got %v want %s", bare, row, want)
		}
	}
}

// TestReport follows figures from what was measured into the tables.
func TestReport(t *testing.T) {
	results := []*result{
		{subject: &subject{group: "floors", name: floorS, pair: true}, serial: []float64{20}, paired: []float64{10}, good: 1, all: 1},
		{subject: &subject{group: "ours", name: "allowed", pair: true}, serial: []float64{28}, paired: []float64{14}, good: 9, all: 10},
	}
	var out strings.Builder
	if err := printTables(&out, report(results)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### ours\n\n| one call | p10 ns | p50 ns |  / S | / S2 | slices | as named | 2 procs p10 |  p50 | slices | speed-up |\n|---|---:|",
		"\n| allowed  |   28.0 |   28.0 | 1.40 |    - |      1 | 90.000 % |        14.0 | 14.0 |      1 |    2.00x |\n",
		" |   1.40 |     1.40 | <= 1.40, stretch 1.35 |", "### WARNING",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s\nwant %q in it", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "not measured") || strings.Contains(out.String(), "generic") {
		t.Errorf("got a verdict about what was not chosen:\n%s", out.String())
	}
}
