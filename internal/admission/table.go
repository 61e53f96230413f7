package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// table prints a line for each run as soon as it is over.
type table struct {
	out    io.Writer
	bounds int // judged
	missed int
}

const nameWidth = 40

func (t *table) head() {
	fmt.Fprintf(t.out, "%-*s %-9s %6s %6s %6s %6s %6s %6s %6s %7s %7s  %s\n", nameWidth,
		"row", "subject", "good", "high", "import", "medium", "low", "shed", "h.shed", "p50 ms", "p99 ms", "bounds")
}

// line prints a run, and judges it if it is ours.
func (t *table) line(r *run) {
	all := r.measured()
	fmt.Fprintf(t.out, "%-*s %-9s %6s %s %6s %6s %7s %7s  %s\n", nameWidth, r.row.name, r.subject,
		figure(r.goodShare()), successes(all), figure(count(all).shedShare()), figure(count(all, throttle.High).shedShare()),
		milliseconds(r.latency(0.5)), milliseconds(r.latency(0.99)), t.verdict(r))
}

func successes(records []record) string {
	var texts []string
	for p := range throttle.Priority(priorities) {
		texts = append(texts, fmt.Sprintf("%6s", figure(count(records, p).success())))
	}
	return strings.Join(texts, " ")
}

// verdict judges the bounds of our protection.
func (t *table) verdict(r *run) string {
	var texts []string
	if r.subject == subjectOurs {
		for _, b := range r.row.bounds {
			text, missed := b.verdict(r)
			t.bounds++
			if missed {
				t.missed++
			}
			if text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) == 0 {
			texts = append(texts, "ok")
		}
	}
	if lag := r.lag(); lag > 20*time.Millisecond {
		texts = append(texts, fmt.Sprintf("warning: the load was %v late", lag.Round(time.Millisecond)))
	}
	if n := count(r.records)[failed]; n > 0 {
		texts = append(texts, fmt.Sprintf("warning: %d requests failed", n))
	}
	if r.strangers > mostStrange {
		texts = append(texts, strangersWarning(r.strangers))
	}
	if r.row.tenants {
		texts = append(texts, "the 99: "+figure(r.modestSuccess()))
	}
	return strings.Join(texts, "; ")
}

// mostStrange is the percentage of the server's processors that other processes may use without a warning.
const mostStrange = 3

func strangersWarning(share float64) string {
	return fmt.Sprintf("warning: others used %.0f%% of the processor", share)
}

func (t *table) series(r *run) {
	fmt.Fprintf(t.out, "    %6s %7s %6s %6s %6s %6s %6s %6s %6s %6s %6s\n",
		"second", "offered", "good", "high", "import", "medium", "low", "shed", "held", "late", "failed")
	for i := range r.seconds() {
		s := count(r.second(i))
		fmt.Fprintf(t.out, "    %6d %7d %6d %s %6d %6d %6d %6d\n",
			i, s.offered(), s[good], successes(r.second(i)), s[shed], s[held], s[late], s[failed])
	}
	if r.log != "" {
		fmt.Fprintf(t.out, "    the server wrote:\n    %s\n", strings.ReplaceAll(strings.TrimSpace(r.log), "\n", "\n    "))
	}
}

func figure(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.1f", x)
}

func milliseconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", d.Seconds()*1e3)
}
