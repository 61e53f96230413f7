package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

func TestNumber(t *testing.T) {
	tests := []struct {
		number    float64
		csv, json string
	}{
		{0, "0", "0"},
		{0.98437512, "0.984375", "0.984375"},
		{1e-9, "1e-09", "1e-09"},
		{-2.5, "-2.5", "-2.5"},
		{math.NaN(), "", "null"},
		{math.Inf(1), "inf", `"inf"`},
	}
	for _, tt := range tests {
		text, err := json.Marshal(number(tt.number))
		if got := number(tt.number).String(); got != tt.csv || string(text) != tt.json || err != nil {
			t.Errorf("%v: got %q and %s, %v, want %q and %s", tt.number, got, text, err, tt.csv, tt.json)
		}
	}
}

func TestCSV(t *testing.T) {
	var text strings.Builder
	if err := writeCSV(&text, handmade(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(text.String(), "\r\n"), strings.Count(text.String(), "\n"); got != want || got != 5 {
		t.Errorf("got %d lines that end as RFC 4180 says of %d, want 5 of 5", got, want)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(rows[0]), 3+4*len(overload.FigureNames()); got != want {
		t.Errorf("got %d columns, want %d", got, want)
	}
	tests := []struct {
		row          int
		column, want string
	}{
		{1, "scenario", "first"},
		{1, "policy", "good"},
		{1, "seeds", "3"},
		{1, "goodput_mean", "1"},
		{1, "goodput_deviation", "0.0004"},
		{1, "time_to_recover_min", "7.625"},
		{1, "time_to_recover_max", "8.625"},
		{1, "waste_mean", ""},
		{2, "policy", "useless"},
		{2, "time_to_recover_mean", "inf"},
		{2, "time_to_recover_deviation", ""},
		{2, "time_to_recover_min", "17"},
		{3, "scenario", "second"},
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

func TestJSON(t *testing.T) {
	r := handmade(1, 2, 3)
	r.done--
	r.settings.options = overload.Options{Clients: 9, RejectionCost: -1, Settings: overload.Settings{Window: 1500 * time.Millisecond}}
	var text strings.Builder
	if err := writeJSON(&text, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Settings map[string]any
		Seeds    []uint64
		Runs     struct{ Planned, Complete int }
		Results  []struct {
			Scenario, Policy string
			Seeds            []uint64
			Figures          map[string]map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"clients": 9.0, "capacity": nil, "rejection_cost": 0.0, "certain": nil, "ratio": nil, "minimum_rate": nil, "window_seconds": 1.5, "target": nil, "background": nil,
	} {
		if value, known := got.Settings[name]; !known || value != want {
			t.Errorf("got setting %s %v, want %v", name, value, want)
		}
	}
	if !slices.Equal(got.Seeds, []uint64{1, 2, 3}) || got.Runs.Planned != 12 || got.Runs.Complete != 11 || len(got.Results) != 4 {
		t.Fatalf("got seeds %v, runs %+v and %d results, want 1 to 3, 11 of 12 and 4", got.Seeds, got.Runs, len(got.Results))
	}
	if first := got.Results[0]; first.Scenario != "first" || first.Policy != "good" || len(first.Seeds) != 3 {
		t.Errorf("got %s with %s and seeds %v first, want first with good", first.Scenario, first.Policy, first.Seeds)
	}
	for _, tt := range []struct {
		result      int
		figure, key string
		want        any
	}{
		{0, "goodput", "deviation", 0.0004},
		{0, "waste", "mean", nil},
		{1, "time_to_recover", "mean", "inf"},
		{1, "time_to_recover", "deviation", nil},
		{1, "time_to_recover", "min", 17.0},
	} {
		if value, known := got.Results[tt.result].Figures[tt.figure][tt.key]; !known || value != tt.want {
			t.Errorf("got %s %s %v, want %v", tt.figure, tt.key, value, tt.want)
		}
	}
}

// TestJSONOfNothing is what a program reads after an early Ctrl-C.
func TestJSONOfNothing(t *testing.T) {
	r := handmade(1)
	r.results, r.done = nil, 0
	var text strings.Builder
	if err := writeJSON(&text, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `"results": []`) {
		t.Errorf("got %s, want an empty list of results", text.String())
	}
}
