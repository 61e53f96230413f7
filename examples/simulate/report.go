package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

type report struct {
	settings      settings
	done, planned int // runs
	results       []result
}

// result is the result of one scenario with one policy, over the completed seeds. There is at least
// one.
type result struct {
	scenario overload.Scenario
	policy   overload.Policy
	overload.Summary
}

// newReport combines the outcomes by scenario and policy. The outcome of an incomplete run is nil.
func newReport(s settings, runs []run, outcomes []*overload.Outcome) report {
	r := report{settings: s, planned: len(runs)}
	for _, scenario := range s.scenarios {
		for _, policy := range s.policies {
			var of []overload.Outcome
			for i, outcome := range outcomes {
				if outcome != nil && runs[i].scenario.Name == scenario.Name && runs[i].policy.Name == policy.Name {
					of = append(of, *outcome)
				}
			}
			if len(of) > 0 {
				r.done += len(of)
				r.results = append(r.results, result{scenario, policy, overload.Summarize(of)})
			}
		}
	}
	return r
}

func (r report) find(scenario, policy string) (result, bool) {
	i := slices.IndexFunc(r.results, func(of result) bool { return of.scenario.Name == scenario && of.policy.Name == policy })
	if i < 0 {
		return result{}, false
	}
	return r.results[i], true
}

// mostSeeds returns the largest number of seeds of a result.
func (r report) mostSeeds() int {
	most := 0
	for _, of := range r.results {
		most = max(most, len(of.Seeds))
	}
	return most
}

// uneven reports whether some results have more seeds than others.
func (r report) uneven() bool {
	return slices.ContainsFunc(r.results, func(of result) bool { return len(of.Seeds) != r.mostSeeds() })
}

// seeds describes the completed seeds in a few words.
func (r report) seeds() string {
	switch most := r.mostSeeds(); {
	case most == 0:
		return "no seeds"
	case most == 1:
		return fmt.Sprintf("seed %d", r.results[0].Seeds[0])
	case r.uneven():
		return fmt.Sprintf("up to %d seeds", most)
	default:
		return fmt.Sprintf("%d seeds", most)
	}
}

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
