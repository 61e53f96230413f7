package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

// tally adds up seconds.
type tally struct {
	seconds         float64
	possible        float64 // calls that could have been served
	capacity        float64 // calls that could have been served, had there been enough of them
	served, twin    float64
	offered         float64
	offeredBy, okBy [4]float64 // by priority
	cached          float64
}

func tallyOf(rows []shop.Sample) tally {
	var t tally
	for _, row := range rows {
		s := row.Span.Seconds()
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

// summarize writes what the run has shown, at once.
func (r *report) summarize(now shop.Settings) {
	if len(r.rows) == 0 {
		return
	}
	var text strings.Builder
	t := tallyOf(r.rows)
	since := ""
	if r.troubled && len(r.rows) < maxSummary {
		since = ", since the " + r.scenario.name + " began"
	}
	fmt.Fprintf(&text, "\nThe last %.0f s%s: %s\n\n", t.seconds, since, describe(now))
	whole := "of capacity"
	switch {
	case t.possible == 0:
		whole = "of nothing: no call could be served, or none came"
	case t.offered < t.capacity:
		whole = "of what was offered"
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

// share returns a part of the whole in percent. Calls that were under way at the beginning may make it more than all.
func share(part, whole float64) string {
	if whole <= 0 {
		return "     -"
	}
	return fmt.Sprintf("%5.1f %%", math.Min(100, 100*part/whole))
}
