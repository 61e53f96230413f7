package otelthrottle

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
)

// throttles are the throttles that are told of.
type throttles = byname.Registry[*throttle.Throttle, throttle.Stats, []reading, *labels]

// newThrottles returns a registry without throttles, whose series will have these attributes too.
func newThrottles(constants []attribute.KeyValue) *throttles {
	return byname.New(byname.Kind[*throttle.Throttle, throttle.Stats, []reading, *labels]{
		Name: func(m *throttle.Throttle) string { return labelName(m.Name()) },
		Data: func(name string) *labels { return newLabels(name, constants) },
		Read: (*throttle.Throttle).Stats,
		Busy: inFlight,
		Add:  addStats,
		Clone: func(r []reading) []reading {
			return append(make([]reading, 0, max(len(r), throttle.StandardPriorities)), r...)
		},
	})
}

func inFlight(stats *throttle.Stats) bool {
	return slices.ContainsFunc(stats.Priorities, func(p throttle.PriorityStats) bool { return p.InFlight > 0 })
}

// addStats adds one throttle to the readings; the present only of one that is open.
func addStats(readings []reading, stats *throttle.Stats, open bool) []reading {
	for p := range stats.Priorities {
		if p == len(readings) {
			readings = append(readings, reading{})
		}
		readings[p].add(&stats.Priorities[p])
		if open {
			readings[p].addPresent(&stats.Priorities[p])
		}
	}
	return readings
}

// totals are the counters of one priority that must never fall, of one throttle or of several together.
type totals struct {
	admitted  throttle.Totals
	shed      throttle.CauseTotals
	shadow    throttle.ShadowTotals
	fallbacks throttle.Totals
	clamped   uint64
}

func (c *totals) add(p *throttle.PriorityStats) {
	c.admitted.Merge(p.Ended)
	c.fallbacks.Merge(p.Fallbacks)
	c.shed.Merge(p.Shed)
	c.shadow.Merge(p.ShadowShed)
	c.clamped += p.Clamped
}

// reading is what a source shows of one priority at one collection: the totals, and the present of its open members.
type reading struct {
	totals
	probability float64
	requests    uint64
	accepts     uint64
	active      int64
}

func (r *reading) addPresent(p *throttle.PriorityStats) {
	r.probability = max(r.probability, p.Probability)
	r.requests += p.Window.Requests()
	r.accepts += p.Window.Accepted
	r.active += p.InFlight
}
