package main

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// number is a figure in CSV, with six digits. A NaN is empty. A time that the run did not reach is inf.
type number float64

func (n number) String() string {
	switch x := float64(n); {
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
			f := figureNamed(of, name)
			row = append(row, f.Mean.String(), f.Deviation.String(), f.Min.String(), f.Max.String())
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

type figureData struct{ Mean, Deviation, Min, Max number }

// figureNamed returns a figure of a result, with NaN for an unknown name.
func figureNamed(of result, name string) figureData {
	f, known := of.Figures[name]
	if !known {
		nan := number(math.NaN())
		return figureData{nan, nan, nan, nan}
	}
	return figureData{number(f.Mean), number(f.Deviation), number(f.Min), number(f.Max)}
}
