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
		of := part{s.Name + ": " + s.Title, func(of result) bool { return of.scenario.Name == s.Name }, overload.FigureNames()[:11]}
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

type column struct {
	figure string // its name in overload.FigureNames
	header string
	scale  float64
	digits int // after the point
	worst  bool
}

func columns(figures ...string) []column {
	all := []column{
		{"goodput", "goodput %", 100, 1, false},
		{"success_high", "High %", 100, 1, false},
		{"success_important", "Important %", 100, 1, false},
		{"success_medium", "Medium %", 100, 1, false},
		{"success_low", "Low %", 100, 1, false},
		{"sent", "sent/C", 1, 2, false},
		{"waste", "waste %", 100, 1, false},
		{"time_to_shed", "to shed s", 1, 2, false},
		{"time_to_recover", "recover s", 1, 1, false},
		{"false_shed", "false shed %", 100, 3, false},
		{"fairness", "fairness", 1, 2, false},
		{"steady", "steady mean %", 100, 2, false},
		{"steady_worst", "steady worst %", 100, 2, true},
		{"whole", "whole run mean %", 100, 2, false},
		{"whole_worst", "whole run worst %", 100, 2, true},
		{"most_open", "most open", 1, 0, false},
		{"attempts", "attempts/calls", 1, 2, false},
		{"succeeded", "succeed %", 100, 2, false},
		{"shed_per_failed", "shed/failed", 1, 2, false},
		{"time_to_admit", "to admit s", 1, 2, false},
		{"shed_all", "shed %", 100, 2, false},
		{"tenants_below", "below %", 100, 1, false},
		{"tenants_fair", "fairness", 1, 3, false},
		{"tenants_worst", "least", 1, 2, false},
	}
	var found []column
	for _, figure := range figures {
		i := slices.IndexFunc(all, func(c column) bool { return c.figure == figure })
		found = append(found, all[i])
	}
	return found
}

// part is a table of some results.
type part struct {
	title   string
	has     func(result) bool
	figures []string
}

// write writes a title, the headers and a line per result. It writes nothing if the part has no result.
func (p part) write(text *strings.Builder, r report, name func(result) string) {
	rows := slices.DeleteFunc(slices.Clone(r.results), func(of result) bool { return !p.has(of) })
	if len(rows) == 0 {
		return
	}
	columns, width := columns(p.figures...), 0
	for _, of := range rows {
		width = max(width, len(name(of)))
	}
	fmt.Fprintln(text, p.title)
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name, seeds string, cell func(column) string) {
		fmt.Fprintf(w, "%-*s\t", width, name)
		for _, c := range columns {
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

// parts returns the tables of special runs.
func parts() []part {
	family := func(name string) func(result) bool { return func(of result) bool { return of.scenario.Family == name } }
	return []part{
		{
			"How much of the worst healthy priority is admitted beside one that fails for its own reason",
			func(of result) bool { return !math.IsNaN(of.Figures["steady"].Mean) },
			[]string{"steady", "steady_worst", "whole", "whole_worst"},
		},
		{
			"The most calls that were open at the same time",
			func(of result) bool { return of.scenario.Backend == overload.Pool },
			[]string{"most_open"},
		},
		{
			"Retries: attempts that are sent for each first attempt, and calls that succeed, in the whole disturbance",
			func(of result) bool { return of.policy.Retry != "" || of.scenario.Retry != "" },
			[]string{"attempts", "succeeded", "goodput", "success_high", "time_to_recover"},
		},
		{
			"Bad luck: calls shed in the 30 s after a disturbance for each that failed in it; time until all are admitted; calls shed from its start on",
			family("luck"),
			[]string{"shed_per_failed", "time_to_admit", "shed_all"},
		},
		{
			"Tenants: calls that succeed of those below their fair share; Jain's index of what each gets of its share; the least by weight",
			family("tenants"),
			[]string{"tenants_below", "tenants_fair", "tenants_worst"},
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
