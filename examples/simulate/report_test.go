package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/throttle"
)

// equals checks a value.
func equals[T comparable](t *testing.T, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%v\nwant\n%v", fmt.Sprintf(what, args...), got, want)
	}
}

// handmade returns a report of two scenarios and two policies, with made-up figures.
func handmade(seeds ...uint64) report {
	phase := overload.Phase{Length: 4 * time.Second, Load: overload.Tiers{0.5, 1.5}, Capacity: 1, Disturbed: true}
	first := overload.Scenario{Name: "first", Family: "luck", Title: "too many calls", Capacity: 10, Cases: []overload.Case{{Phases: []overload.Phase{phase}}}}
	second := overload.Scenario{Name: "second", Family: "tenants", Title: "High fails", Capacity: 10, Cases: make([]overload.Case, 2)}
	good, bad := overload.Policy{Name: "good"}, overload.Policy{Name: "useless", Retry: "budget"}
	r := report{planned: 4 * len(seeds), done: 4 * len(seeds)}
	r.settings = settings{seeds: seeds, scenarios: []overload.Scenario{first, second}, policies: []overload.Policy{good, bad}}
	nan, never := overload.Figure{Mean: math.NaN(), Deviation: math.NaN(), Min: math.NaN(), Max: math.NaN()},
		overload.Figure{Mean: math.Inf(1), Deviation: math.NaN(), Min: 17, Max: math.Inf(1)}
	add := func(s overload.Scenario, p overload.Policy, figures map[string]overload.Figure) {
		for _, name := range overload.FigureNames() {
			if _, known := figures[name]; !known {
				figures[name] = nan
			}
		}
		r.results = append(r.results, result{s, p, overload.Summary{Scenario: s.Name, Policy: p.Name, Seeds: seeds, Figures: figures}})
	}
	of := func(mean, deviation float64) overload.Figure {
		return overload.Figure{Mean: mean, Deviation: deviation, Min: mean - deviation, Max: mean + deviation}
	}
	add(first, good, map[string]overload.Figure{
		"goodput": of(1, 0.0004), "success_high": of(0.987, 0.1234), "success_low": of(0.5, 0), "sent": of(1.25, 0.25),
		"time_to_shed": of(0.25, 0), "time_to_recover": of(8.125, 0.5), "false_shed": of(0, 0), "fairness": of(0.9, 0.05),
		"shed_per_failed": of(3.994, 0.5), "time_to_admit": never,
	})
	add(first, bad, map[string]overload.Figure{
		"goodput": of(0.0625, 0.0125), "success_high": of(0, 0), "waste": of(0.9, 0.01), "time_to_shed": never, "time_to_recover": never,
		"attempts": of(1.054, 0),
	})
	add(second, good, map[string]overload.Figure{
		"goodput": of(0.75, 0.125), "steady": of(0.9999, 0.0001), "steady_worst": of(0.9, 0.1), "whole": of(1, 0), "whole_worst": of(0.5, 0.25),
		"tenants_fair": of(0.5, 0.125),
	})
	add(second, bad, map[string]overload.Figure{"steady": of(0.5, 0.25), "steady_worst": of(0.25, 0.25), "whole": of(0.5, 0), "whole_worst": of(0, 0)})
	return r
}

func TestCSV(t *testing.T) {
	var text strings.Builder
	if err := writeCSV(&text, handmade(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(text.String(), "\r\n"), strings.Count(text.String(), "\n"); got != want || got != 5 {
		t.Errorf("got %d lines that end as RFC 4180 says of %d, want 5 of 5", got, want)
	}
	rows := throttle.Must(csv.NewReader(strings.NewReader(text.String())).ReadAll())
	equals(t, len(rows[0]), 3+4*len(overload.FigureNames()), "columns")
	tests := []struct {
		row          int
		column, want string
	}{
		{1, "scenario", "first"},
		{1, "seeds", "3"},
		{1, "goodput_mean", "1"},
		{1, "goodput_deviation", "0.0004"},
		{1, "time_to_recover_min", "7.625"},
		{1, "waste_mean", ""},
		{2, "time_to_recover_mean", "inf"},
		{2, "time_to_recover_min", "17"},
		{3, "whole_worst_min", "0.25"},
		{4, "goodput_mean", ""},
	}
	for _, tt := range tests {
		column := slices.Index(rows[0], tt.column)
		if column < 0 {
			t.Errorf("got no column %s", tt.column)
		} else if got := rows[tt.row][column]; got != tt.want {
			t.Errorf("row %d: got %s %q, want %q", tt.row, tt.column, got, tt.want)
		}
	}
}
