package main

import (
	"fmt"
	"text/tabwriter"
)

// row is one part of the story in the table.
type row struct {
	name    string
	stretch stretch
}

// row adds a row to the table.
func (s *story) row(name string, was stretch) { s.rows = append(s.rows, row{name, was}) }

// summarize writes what the run has shown.
func (s *story) summarize() {
	if len(s.rows) == 0 {
		return
	}
	s.out.Act("Summary")
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tseconds\tcalls\ta second\tof the quota\trefused\t\n")
	for _, r := range s.rows {
		t := r.stretch
		fmt.Fprintf(w, "%-20s\t%.1f\t%d\t%.1f\t%.0f %%\t%d\t\n", r.name, t.took.Seconds(), t.calls.made, t.perSecond(),
			100*t.ofQuota(s.settings.quota), t.calls.refused)
	}
	_ = w.Flush() // the narrator keeps the error
	s.out.Printf("\n")
	_ = s.promises.Write(s.out) // the narrator keeps the error
}
