package main

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// number returns a figure in CSV, with six digits. A NaN is empty. A time that the run did not reach is inf.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case math.IsInf(x, 0):
		return "inf"
	default:
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
}

// writeCSV writes the report as RFC 4180 requires. It has a row per scenario and policy, and four
// columns per figure.
func writeCSV(w io.Writer, r report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	header := []string{"scenario", "policy", "seeds"}
	for _, name := range overload.FigureNames() {
		header = append(header, name+"_mean", name+"_deviation", name+"_min", name+"_max")
	}
	rows := [][]string{header}
	for _, of := range r.results {
		row := []string{of.scenario.Name, of.policy.Name, strconv.Itoa(len(of.Seeds))}
		for _, name := range overload.FigureNames() {
			f := of.Figures[name]
			row = append(row, number(f.Mean), number(f.Deviation), number(f.Min), number(f.Max))
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}
