package main

import (
	"fmt"
	"text/tabwriter"
)

// row is one part of the story in the table, and in the plot if it has the backoff.
type row struct {
	name     string
	stretch  stretch
	span     string // what the plot calls it; empty for what is not in it
	capacity float64
}

// row adds a row to the table.
func (s *story) row(r row) { s.rows = append(s.rows, r) }

// summarize writes what the run has shown.
func (s *story) summarize() {
	if len(s.rows) == 0 {
		return
	}
	s.out.Act("Summary")
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tseconds\titems\ta second\tof the capacity\tthrottled\tof the calls\t\n")
	for _, r := range s.rows {
		t := r.stretch
		fmt.Fprintf(w, "%-22s\t%.1f\t%d\t%.0f\t%.1f %%\t%d\t%.1f %%\t\n", r.name, t.took.Seconds(), t.written, t.perSecond(),
			100*t.used(), t.throttled, 100*t.throttledShare())
	}
	_ = w.Flush() // the narrator keeps the error
	if len(s.promises) == 0 {
		return
	}
	s.out.Printf("\n")
	_ = s.promises.Write(s.out) // the narrator keeps the error
}
