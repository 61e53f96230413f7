package otelthrottle

import "github.com/spillway-go/spillway/throttle"

// totals are the counters of one priority that must never fall, of one throttle or of several together.
type totals struct {
	admitted  throttle.Totals
	shed      [throttle.NumCauses]uint64
	shadow    [throttle.NumCauses]throttle.Totals
	fallbacks throttle.Totals
	clamped   uint64
}

func (c *totals) add(p *throttle.PriorityStats) {
	addTotals(&c.admitted, &p.Admitted)
	addTotals(&c.fallbacks, &p.Fallbacks)
	for cause := range c.shed {
		c.shed[cause] += p.Shed[cause]
		addTotals(&c.shadow[cause], &p.ShadowShed[cause])
	}
	c.clamped += p.Clamped
}

func addTotals(to, from *throttle.Totals) {
	for o := range to {
		for f := range to[o] {
			to[o][f] += from[o][f]
		}
	}
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
