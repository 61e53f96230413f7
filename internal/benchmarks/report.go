package main

import (
	"fmt"
	"runtime"
)

// report returns the tables: one for each group of subjects, the verdicts, and the warnings about
// subjects that did not do what their name says.
func report(results []*result) []table {
	f := newFindings(results)
	var tables []table
	for _, r := range results {
		if n := len(tables); n == 0 || tables[n-1].heading != r.group {
			tables = append(tables, table{heading: r.group, rows: [][]string{{
				"one call", "p10 ns", "p50 ns", "/ S", "/ S2", "slices", "as named", "2 procs p10", "p50", "slices", "speed-up",
			}}})
		}
		last := &tables[len(tables)-1]
		last.rows = append(last.rows, f.row(r))
	}
	tables = append(tables, f.verdicts())
	if warnings := f.warnings(); len(warnings) > 0 {
		tables = append(tables, table{heading: "WARNING: did not do what the name says", rows: append([][]string{{"subject", "share", "want"}}, warnings...)})
	}
	return tables
}

type findings struct {
	ordered []*result
	named   map[string]*result
}

func newFindings(results []*result) *findings {
	f := &findings{ordered: results, named: map[string]*result{}}
	for _, r := range results {
		f.named[r.name] = r
	}
	return f
}

func (f *findings) row(r *result) []string {
	row := []string{
		r.name, figure("%.1f", quantile(r.serial, 0.1)), figure("%.1f", quantile(r.serial, 0.5)),
		figure("%.2f", f.ratio(0.5, r.name, floorS)), figure("%.2f", f.ratio(0.5, r.name, floorS2)), fmt.Sprint(len(r.serial)), percent(r.share()),
	}
	if !r.pair {
		return append(row, "-", "-", "-", "-")
	}
	return append(row,
		figure("%.1f", quantile(r.paired, 0.1)), figure("%.1f", quantile(r.paired, 0.5)),
		fmt.Sprint(len(r.paired)), figure("%.2fx", f.speedUp(0.5, r.name)))
}

// warnings returns a row for each subject that did too little of what its name says.
func (f *findings) warnings() [][]string {
	var rows [][]string
	for _, r := range f.ordered {
		if r.share() < r.wanted() {
			rows = append(rows, []string{r.name, percent(r.share()), percent(r.wanted())})
		}
	}
	return rows
}

// ratio returns the cost of over at a quantile, divided by the sum of the costs of under and plus. It returns 0 if a
// figure is missing.
func (f *findings) ratio(q float64, over, under string, plus ...part) float64 {
	divisor := 0.0
	for _, p := range append([]part{{under, 1}}, plus...) {
		cost := f.cost(q, p.name)
		if cost == 0 {
			return 0
		}
		divisor += p.times * cost
	}
	return f.cost(q, over) / divisor
}

// extra returns the cost of over minus the cost of under in nanoseconds. It returns 0 if a figure is missing.
func (f *findings) extra(q float64, over, under string) float64 {
	a, b := f.cost(q, over), f.cost(q, under)
	if a == 0 || b == 0 {
		return 0
	}
	return a - b
}

// speedUp returns the throughput of two processors divided by that of one, or 0 if a figure is missing.
func (f *findings) speedUp(q float64, name string) float64 {
	r := f.named[name]
	if r == nil || len(r.paired) == 0 {
		return 0
	}
	return f.cost(q, name) / quantile(r.paired, q)
}

// cost returns the cost of a subject on one processor, or 0 if it is missing.
func (f *findings) cost(q float64, name string) float64 {
	if r := f.named[name]; r != nil {
		return quantile(r.serial, q)
	}
	return 0
}

// share returns the share of the operations that did what the name of the subject says.
func (r *result) share() float64 {
	if r.all == 0 {
		return 0
	}
	return float64(r.good) / float64(r.all)
}

// quantile returns the q-th quantile of sorted numbers, or 0 if there are none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// figure formats a number, and a missing one as a dash.
func figure(format string, x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// percent formats a share. Only 1 is printed as 100 %.
func percent(share float64) string {
	if share == 1 {
		return "100 %"
	}
	return fmt.Sprintf("%.3f %%", min(share*100, 99.999))
}

func machine() string {
	return fmt.Sprintf("%s %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}
