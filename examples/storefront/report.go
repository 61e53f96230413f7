package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

const (
	second = time.Second
	// linesPerHeading is after how many lines the heading is repeated.
	linesPerHeading = 20
	// maxSummary is how many seconds the summary is about, at most; without a scenario it is about the last few.
	maxSummary, fewSeconds = 600, 10
)

const heading = `
                                -- goodput % --    ------ success % ------                ----- probability -----
   time  offered/s  served/s   throttled    not    high  impt   med   low      shed/s    high  impt   med   low
`

// report is what the terminal shows: a line per second, and a summary at the end.
type report struct {
	out      io.Writer
	err      error // of writing
	scenario scenario
	begun    time.Time
	lines    int
	settings shop.Settings // in force when the last line was written
	rows     []shop.Sample // for the summary
	troubled bool          // they are about the time since the trouble began
}

func newReport(out io.Writer, s settings) *report {
	return &report{out: out, scenario: s.scenario, settings: s.shop}
}

// follow writes a line per second until ctx ends.
func (r *report) follow(ctx context.Context, m *shop.Meter, d *director) {
	r.begun = time.Now()
	ticker := time.NewTicker(second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if row := m.Read(); row.Span >= second/2 { // the last one may be cut short by some moments
				r.add(row, d)
			}
			return
		case <-ticker.C:
			r.add(m.Read(), d)
		}
	}
}

// add writes a line and keeps it for the summary.
func (r *report) add(row shop.Sample, d *director) {
	r.line(row)
	begun, troubled := d.troubleSince()
	if troubled && row.At.Add(-row.Span/2).Before(begun) {
		return // calm
	}
	if troubled && !r.troubled {
		r.rows, r.troubled = nil, true
	}
	r.rows = append(r.rows, row)
	keep := fewSeconds
	if troubled {
		keep = maxSummary
	}
	if excess := len(r.rows) - keep; excess > 0 {
		r.rows = r.rows[excess:]
	}
}

// line writes what happened within a second, and below it what has been changed meanwhile. It writes it at once, so that nothing that
// others have to tell comes between.
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
		above, row.At.Sub(r.begun).Seconds(), row.Offered, row.Served, percent(row.Goodput), percent(row.Twin.Goodput),
		percent(k[0].Success), percent(k[1].Success), percent(k[2].Success), percent(k[3].Success), row.Shed,
		k[0].Probability, k[1].Probability, k[2].Probability, k[3].Probability, below)
}

func (r *report) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(r.out, format, args...); err != nil && r.err == nil {
		r.err = err
	}
}

// percent returns a ratio in five columns.
func percent(r shop.Ratio) string {
	if !r.Known() {
		return "    -"
	}
	return fmt.Sprintf("%5.0f", math.Floor(100*float64(r)))
}

// describe returns settings in words.
func describe(s shop.Settings) string {
	switched := "off"
	if s.Throttled {
		switched = "on"
	}
	return fmt.Sprintf("load %.2g x %.0f calls/s, backend %v, throttle %s, policy %v", s.Load, s.Capacity, s.Backend, switched, s.Policy)
}
