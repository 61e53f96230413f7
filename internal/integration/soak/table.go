package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// table returns the figures of a soak.
func (f *findings) table(as format) string {
	needs := [][]string{{"example", "what", "first third", "middle", "last", "most", "last may be", ""}}
	did := [][]string{{"example", "calls", "scrapes", "pages", "events", "reopened", "annoyances", "turns", "broken", "late", "seen", "exit"}}
	for _, c := range f.children {
		needs = append(needs, c.needs(f.race)...)
		did = append(did, c.did())
	}
	detector := "without"
	if f.race {
		detector = "with"
	}
	head := fmt.Sprintf("%v %s the race detector; storefront changed %d times; %d freezes of %v", f.took.Round(time.Second), detector, f.wishes, f.freezes, frozenFor)
	return head + "\n\n" + grid(needs, as) + "\n" + grid(did, as)
}

// needs returns a row for each quantity: medians of the thirds, and the most there ever was.
func (f *finding) needs(race bool) [][]string {
	var rows [][]string
	for _, q := range quantities() {
		t := thirdsOf(valuesOf(f.samples, q))
		row := []string{f.example, strings.TrimSpace(q.name + " " + q.unit)}
		for _, x := range []float64{t.first, t.middle, t.last, t.most, t.bound(q.slack)} {
			row = append(row, fmt.Sprintf("%.1f", x))
		}
		rows = append(rows, append(row, f.verdict(q, t, race)))
	}
	return rows
}

// verdict returns the word for a quantity.
func (f *finding) verdict(q quantity, t thirds, race bool) string {
	switch {
	case race && q.plain:
		return "not judged"
	case len(f.samples) < fewestSamples:
		return "too few samples"
	case t.last > t.bound(q.slack):
		return "GROWN"
	}
	return "flat"
}

// did returns a row of what has happened.
func (f *finding) did() []string {
	calls := 0.0
	if n := len(f.samples); n > 0 {
		calls = f.samples[n-1].calls
	}
	var seen []string
	for _, e := range f.evidence {
		seen = append(seen, fmt.Sprintf("%s %.0f", e.name, e.value))
	}
	row := []string{f.example, fmt.Sprintf("%.0f", calls)}
	for _, n := range []int64{
		int64(f.scrapes), f.pages, f.events, f.reopened, f.annoyed, int64(f.said.turns), int64(len(f.said.broken)), int64(f.said.late),
	} {
		row = append(row, fmt.Sprint(n))
	}
	return append(row, strings.Join(seen, ", "), f.exit)
}

// grid returns rows, of which the first is the heading.
func grid(rows [][]string, as format) string {
	var text strings.Builder
	if as == asMarkdown {
		for i, row := range rows {
			fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&text, "|%s\n", strings.Repeat(" --- |", len(row)))
			}
		}
		return text.String()
	}
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a string takes everything
	return text.String()
}
