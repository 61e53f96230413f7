package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

// writeTable writes the report as a table for humans.
func writeTable(w io.Writer, r report) error {
	if len(r.results) == 0 {
		return nil
	}
	var text strings.Builder
	g := newGrid(r, columns(), func(of result) []string { return []string{of.policy.Name} })
	for _, scenario := range r.settings.scenarios {
		g.writeRows(&text, scenario.Name+": "+scenario.Title+"\n", func(of result) bool { return of.scenario.Name == scenario.Name })
	}
	for _, p := range parts() {
		g := newGrid(r, p.columns, func(of result) []string { return []string{of.scenario.Name, of.policy.Name} })
		g.writeRows(&text, p.title+"\n", p.has)
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

// grid is a table in several parts, whose columns have the same width in all parts.
type grid struct {
	results    []result
	columns    []column
	uneven     bool // add a column with the number of seeds
	names      func(result) []string
	widths     []int // of the names
	numbers    []int // widths of the numbers, and of their deviations
	deviations []int
}

func newGrid(r report, columns []column, names func(result) []string) grid {
	g := grid{results: r.results, columns: columns, uneven: r.uneven(), names: names}
	g.numbers, g.deviations = make([]int, len(columns)), make([]int, len(columns))
	for _, r := range r.results {
		g.widths = append(g.widths, make([]int, len(names(r))-len(g.widths))...)
		for i, name := range names(r) {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(name))
		}
		for i, c := range columns {
			number, deviation := c.cell(r)
			g.numbers[i] = max(g.numbers[i], len(number))
			g.deviations[i] = max(g.deviations[i], utf8.RuneCountInString(deviation))
		}
	}
	for i, c := range columns {
		g.numbers[i] = max(g.numbers[i], len(c.header)-g.deviations[i])
	}
	return g
}

// begin returns the names at the beginning of a line, padded to their width.
func (g grid) begin(names []string) string {
	var cells []string
	for i, width := range g.widths {
		cells = append(cells, fmt.Sprintf("%-*s", width, names[i]))
	}
	return strings.Join(cells, "  ")
}

// writeRows writes a title, the headers, and the rows of the selected results. It writes nothing if
// no result is selected.
func (g grid) writeRows(w *strings.Builder, title string, selected func(result) bool) {
	var rows []result
	for _, r := range g.results {
		if selected(r) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return
	}
	line := g.begin(make([]string, len(g.widths)))
	for i, c := range g.columns {
		line += fmt.Sprintf("  %*s", g.numbers[i]+g.deviations[i], c.header)
	}
	w.WriteString(title + g.seeds(line, "seeds") + "\n")
	for _, r := range rows {
		line := g.begin(g.names(r))
		for i, c := range g.columns {
			number, deviation := c.cell(r)
			line += fmt.Sprintf("  %*s%*s", g.numbers[i], number, g.deviations[i], deviation)
		}
		w.WriteString(g.seeds(line, strconv.Itoa(len(r.Seeds))) + "\n")
	}
	w.WriteString("\n")
}

// seeds completes a line, with the number of seeds if it differs between results.
func (g grid) seeds(line, text string) string {
	if g.uneven {
		return line + fmt.Sprintf("  %5s", text)
	}
	return strings.TrimRight(line, " ")
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

// part is a part of the table for runs that have something special.
type part struct {
	title   string
	has     func(result) bool
	columns []column
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

// cell returns the number of a figure, and its deviation, which is empty for a single seed.
func (c column) cell(r result) (number, deviation string) {
	f, known := r.Figures[c.figure]
	number = "-"
	switch x := f.Mean; {
	case !known || math.IsNaN(x):
		return number, ""
	case c.worst:
		return c.format(f.Min), ""
	case math.IsInf(x, 0):
		return "never", ""
	default:
		number = c.format(x)
	}
	if len(r.Seeds) > 1 {
		deviation = " ±" + c.format(f.Deviation)
	}
	return number, deviation
}

func (c column) format(x float64) string { return strconv.FormatFloat(x*c.scale, 'f', c.digits, 64) }
