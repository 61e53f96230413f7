package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

const (
	second = time.Second
	// linesPerHeading is the number of lines between two headings.
	linesPerHeading = 20
	// maxSummary is the largest number of seconds in the summary. Without a scenario the summary is
	// of the last fewSeconds.
	maxSummary, fewSeconds = 600, 10
)

const heading = `
                                -- goodput % --    ------ success % ------                ----- probability -----
   time  offered/s  served/s   throttled    not    high  impt   med   low      shed/s    high  impt   med   low
`

// report writes a line per second to the terminal, and a summary at the end.
type report struct {
	out       io.Writer
	err       error // the first error of writing
	scenario  scenario
	begun     time.Time
	lines     int
	settings  shop.Settings // in force when the last line was written
	rows      []shop.Sample // for the summary
	disturbed bool          // the rows begin with the disturbance of the scenario
}

func newReport(out io.Writer, s settings) *report {
	return &report{out: out, scenario: s.scenario, settings: s.shop}
}

// follow writes a line per second until ctx ends.
func (r *report) follow(ctx context.Context, m *shop.Meter, p *scenarioPlayer) {
	r.begun = time.Now()
	ticker := time.NewTicker(second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if row := m.Read(); row.Span >= second/2 { // the last second may be a little shorter
				r.add(row, p)
			}
			return
		case <-ticker.C:
			r.add(m.Read(), p)
		}
	}
}

// add writes a line and keeps its figures for the summary.
func (r *report) add(row shop.Sample, p *scenarioPlayer) {
	r.line(row)
	begun, disturbed := p.disturbedSince()
	if disturbed && row.At().Add(-row.Span/2).Before(begun) {
		return // the last second before the disturbance
	}
	if disturbed && !r.disturbed {
		r.rows, r.disturbed = nil, true
	}
	r.rows = append(r.rows, row)
	keep := fewSeconds
	if disturbed {
		keep = maxSummary
	}
	if excess := len(r.rows) - keep; excess > 0 {
		r.rows = r.rows[excess:]
	}
}

// line writes the figures of a second, and below them the settings if they have changed. It makes
// one Write, so that no alert is printed in between.
func (r *report) line(row shop.Sample) {
	above, below := "", ""
	if r.lines%linesPerHeading == 0 {
		above = heading
	}
	if row.Settings != r.settings {
		below = fmt.Sprintf("         -- %s\n", describe(row.Settings))
		r.settings = row.Settings
	}
	r.lines++
	k := row.Kinds
	r.printf("%s%5.0f s %10.0f %9.0f       %s  %s   %s %s %s %s  %10.0f    %.2f  %.2f  %.2f  %.2f\n%s",
		above, row.At().Sub(r.begun).Seconds(), row.Offered, row.Served, percent(row.Goodput), percent(row.Twin.Goodput),
		percent(k[0].Success), percent(k[1].Success), percent(k[2].Success), percent(k[3].Success), row.Shed,
		k[0].Probability, k[1].Probability, k[2].Probability, k[3].Probability, below)
}

func (r *report) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(r.out, format, args...); err != nil && r.err == nil {
		r.err = err
	}
}

// percent formats a ratio in five columns.
func percent(r shop.Figure) string {
	if !r.Known() {
		return "    -"
	}
	return fmt.Sprintf("%5.0f", math.Floor(100*float64(r)))
}

func describe(s shop.Settings) string {
	return fmt.Sprintf("load %.2g x %.0f calls/s, backend %v, throttle %v, policy %v", s.Load, s.Capacity, s.Backend, s.Throttled, s.Policy)
}

// sums are the figures of several seconds together.
type sums struct {
	seconds         shop.Figure
	possible        shop.Figure // offered calls that the backend had the capacity to serve
	capacity        shop.Figure // calls that the backend had the capacity to serve
	served, twin    shop.Figure
	offered         shop.Figure
	offeredBy, okBy [4]shop.Figure // by priority
	cached          shop.Figure
}

func sumOf(rows []shop.Sample) sums {
	var t sums
	for _, row := range rows {
		s := shop.Figure(row.Span.Seconds())
		t.seconds += s
		t.possible += s * min(row.Offered, row.Available)
		t.capacity += s * row.Available
		t.offered += s * row.Offered
		t.served += s * row.Served
		t.twin += s * row.Twin.Served
		for i, k := range row.Kinds {
			t.offeredBy[i] += s * k.Offered
			t.okBy[i] += s * k.Served
			t.cached += s * k.Cached
		}
	}
	return t
}

// summarize writes the summary of the run in one Write.
func (r *report) summarize(now shop.Settings) {
	if len(r.rows) == 0 {
		return
	}
	var text strings.Builder
	t := sumOf(r.rows)
	since := ""
	if r.disturbed && len(r.rows) < maxSummary {
		since = ", since the " + r.scenario.name + " began"
	}
	fmt.Fprintf(&text, "\nThe last %.0f s%s: %s\n\n", t.seconds, since, describe(now))
	whole := "of capacity"
	switch {
	case t.possible == 0:
		whole = "of nothing: no calls, or no capacity"
	case t.offered < t.capacity:
		whole = "of the offered calls"
	}
	fmt.Fprintf(&text, "  goodput              %s %s\n", share(t.served, t.possible), whole)
	fmt.Fprintf(&text, "  without a throttle   %s %s\n", share(t.twin, t.possible), whole)
	for i, kind := range shop.Kinds() {
		more := ""
		if i == len(t.okBy)-1 {
			more = fmt.Sprintf("; %s more were served from the cache", share(t.cached, t.offeredBy[i]))
		}
		fmt.Fprintf(&text, "  success %-12s %s of %s%s\n", kind.Priority, share(t.okBy[i], t.offeredBy[i]), kind.Name, more)
	}
	r.printf("%s", text.String())
}

// share formats a part of a whole in percent, at most 100. Calls in flight at the beginning can
// make the part larger than the whole.
func share(part, whole shop.Figure) string {
	if whole <= 0 {
		return "     -"
	}
	return fmt.Sprintf("%5.1f %%", min(100, 100*part/whole))
}
