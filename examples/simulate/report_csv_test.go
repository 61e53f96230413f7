package main

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/throttle"
)

func TestCSV(t *testing.T) {
	var text strings.Builder
	if err := writeCSV(&text, handmade(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(text.String(), "\r\n"), strings.Count(text.String(), "\n"); got != want || got != 5 {
		t.Errorf("got %d lines that end as RFC 4180 says of %d, want 5 of 5", got, want)
	}
	rows := throttle.Must(csv.NewReader(strings.NewReader(text.String())).ReadAll())
	if got, want := len(rows[0]), 3+4*len(overload.FigureNames()); got != want {
		t.Errorf("got %d columns, want %d", got, want)
	}
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
