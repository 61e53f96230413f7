package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// writeTable writes the report as tables for humans: one for each scenario, and those of special runs.
func writeTable(w io.Writer, r report) error {
	if len(r.results) == 0 {
		return nil
	}
	var text strings.Builder
	for _, s := range r.settings.scenarios {
		of := part{s.Name + ": " + s.Title, func(of result) bool { return of.scenario.Name == s.Name }, columns()}
		of.write(&text, r, func(of result) string { return of.policy.Name })
	}
	for _, p := range parts() {
		p.write(&text, r, func(of result) string { return of.scenario.Name + ", " + of.policy.Name })
	}
	text.WriteString(legend(r))
	_, err := io.WriteString(w, text.String())
	return err
}

// legend explains the columns.
func legend(r report) string {
	seeds := "One run each, with " + r.seeds() + "."
	if r.mostSeeds() > 1 {
		seeds = "Mean ±standard deviation over " + r.seeds() + "."
	}
	return seeds + ` never: not reached in at least one seed. -: does not apply.
goodput: useful work of the backend in the disturbance, of the possible work. High to Low: calls that succeed in its second half.
sent/C: load that reaches the backend then, in multiples of its capacity. waste: its work that was not useful. to shed: until a tenth is shed.
recover: after the disturbance, until 99 % are admitted and 97 % succeed. false shed: shed without need. fairness: 1 if all clients succeed equally.
`
}

// column is one figure in the table.
type column struct {
	header string
	figure string // its name in overload.FigureNames
	scale  float64
	digits int // after the point
	worst  bool
}

// columns returns the columns for every run.
func columns() []column {
	return []column{
		{header: "goodput %", figure: "goodput", scale: 100, digits: 1},
		{header: "High %", figure: "success_high", scale: 100, digits: 1},
		{header: "Important %", figure: "success_important", scale: 100, digits: 1},
		{header: "Medium %", figure: "success_medium", scale: 100, digits: 1},
		{header: "Low %", figure: "success_low", scale: 100, digits: 1},
		{header: "sent/C", figure: "sent", scale: 1, digits: 2},
		{header: "waste %", figure: "waste", scale: 100, digits: 1},
		{header: "to shed s", figure: "time_to_shed", scale: 1, digits: 2},
		{header: "recover s", figure: "time_to_recover", scale: 1, digits: 1},
		{header: "false shed %", figure: "false_shed", scale: 100, digits: 3},
		{header: "fairness", figure: "fairness", scale: 1, digits: 2},
	}
}

// part is a table of some results.
type part struct {
	title   string
	has     func(result) bool
	columns []column
}

// write writes a title, the headers and a line per result. It writes nothing if the part has no result.
func (p part) write(text *strings.Builder, r report, name func(result) string) {
	rows := slices.DeleteFunc(slices.Clone(r.results), func(of result) bool { return !p.has(of) })
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, of := range rows {
		width = max(width, len(name(of)))
	}
	fmt.Fprintln(text, p.title)
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name, seeds string, cell func(column) string) {
		fmt.Fprintf(w, "%-*s\t", width, name)
		for _, c := range p.columns {
			fmt.Fprint(w, cell(c), "\t")
		}
		if r.uneven() {
			fmt.Fprint(w, seeds, "\t")
		}
		fmt.Fprintln(w)
	}
	line("", "seeds", func(c column) string { return c.header })
	for _, of := range rows {
		line(name(of), strconv.Itoa(len(of.Seeds)), func(c column) string { return c.cell(of) })
	}
	_ = w.Flush() // a Builder returns no error
	fmt.Fprintln(text)
}

func parts() []part {
	family := func(name string) func(result) bool { return func(of result) bool { return of.scenario.Family == name } }
	return []part{
		{
			"How much of the worst healthy priority is admitted beside one that fails for its own reason",
			func(of result) bool { return !math.IsNaN(of.Figures["steady"].Mean) },
			[]column{
				{header: "steady mean %", figure: "steady", scale: 100, digits: 2},
				{header: "steady worst %", figure: "steady_worst", scale: 100, digits: 2, worst: true},
				{header: "whole run mean %", figure: "whole", scale: 100, digits: 2},
				{header: "whole run worst %", figure: "whole_worst", scale: 100, digits: 2, worst: true},
			},
		},
		{
			"The most calls that were open at the same time",
			func(of result) bool { return of.scenario.Backend == overload.Pool },
			[]column{{header: "most open", figure: "most_open", scale: 1}},
		},
		{
			"Retries: attempts that are sent for each first attempt, and calls that succeed, in the whole disturbance",
			func(of result) bool { return of.policy.Retry != "" || of.scenario.Retry != "" },
			[]column{
				{header: "attempts/calls", figure: "attempts", scale: 1, digits: 2},
				{header: "succeed %", figure: "succeeded", scale: 100, digits: 2},
				{header: "goodput %", figure: "goodput", scale: 100, digits: 1},
				{header: "High %", figure: "success_high", scale: 100, digits: 1},
				{header: "recover s", figure: "time_to_recover", scale: 1, digits: 1},
			},
		},
		{
			"Bad luck: calls shed in the 30 s after a disturbance for each that failed in it; time until all are admitted; calls shed from its start on",
			family("luck"),
			[]column{
				{header: "shed/failed", figure: "shed_per_failed", scale: 1, digits: 2},
				{header: "to admit s", figure: "time_to_admit", scale: 1, digits: 2},
				{header: "shed %", figure: "shed_all", scale: 100, digits: 2},
			},
		},
		{
			"Tenants: calls that succeed of those below their fair share; Jain's index of what each gets of its share; the least by weight",
			family("tenants"),
			[]column{
				{header: "below %", figure: "tenants_below", scale: 100, digits: 1},
				{header: "fairness", figure: "tenants_fair", scale: 1, digits: 3},
				{header: "least", figure: "tenants_worst", scale: 1, digits: 2},
			},
		},
	}
}

// cell returns the figure of a result, with its deviation if there are several seeds.
func (c column) cell(r result) string {
	f, known := r.Figures[c.figure]
	format := func(x float64) string { return strconv.FormatFloat(x*c.scale, 'f', c.digits, 64) }
	switch {
	case !known || math.IsNaN(f.Mean):
		return "-"
	case c.worst:
		return format(f.Min)
	case math.IsInf(f.Mean, 0):
		return "never"
	case len(r.Seeds) > 1:
		return format(f.Mean) + " ±" + format(f.Deviation)
	}
	return format(f.Mean)
}
