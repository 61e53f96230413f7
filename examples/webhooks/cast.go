package main

import (
	"math/rand/v2"

	"github.com/spillway-go/spillway/examples/webhooks/customer"
)

// tenants is how many customers there are.
const tenants = 40

// cast is who plays which part.
type cast struct {
	busy, quiet []*customer.Endpoint // half of all deliveries go to the busy ones
	dead        []*customer.Endpoint // all that die in the first place
	revived     []*customer.Endpoint // of these, those that come back by themselves
	fixed       []*customer.Endpoint // those that come back when somebody has enabled them
	lost        []*customer.Endpoint // those that never come back
	late        []*customer.Endpoint // those that die in the last act
}

// newCast gives out the parts. Who dies is busy, because nobody can soon know that an endpoint is dead which is hardly ever called. Half as
// many busy ones live.
func newCast(endpoints []*customer.Endpoint, s settings, dice *rand.Rand) *cast {
	shuffled := make([]*customer.Endpoint, len(endpoints))
	for i, j := range dice.Perm(len(endpoints)) {
		shuffled[i] = endpoints[j]
	}
	dead, late, busy := s.deadEndpoints(), s.lateEndpoints(), s.busyEndpoints()
	c := &cast{busy: shuffled[:busy], quiet: shuffled[busy:], dead: shuffled[:dead], late: shuffled[dead : dead+late]}
	for i, e := range c.dead {
		switch {
		case i%5 == 4:
			c.revived = append(c.revived, e)
		case i%5%2 == 0:
			c.fixed = append(c.fixed, e)
		default:
			c.lost = append(c.lost, e)
		}
	}
	for _, e := range shuffled[:dead+late] {
		e.Doomed = true
	}
	return c
}

// lasting are those that have to be disabled.
func (c *cast) lasting() []*customer.Endpoint {
	return append(append([]*customer.Endpoint{}, c.fixed...), c.lost...)
}

// illness returns how the i-th that dies does: half of them hang, which is the worst for whoever calls.
func illness(i int) customer.Health {
	if i%2 == 0 {
		return customer.Hanging
	}
	return []customer.Health{customer.Refusing, customer.Failing, customer.Flaky}[i/2%3]
}

// members returns the set of endpoints.
func members(endpoints []*customer.Endpoint) map[*customer.Endpoint]bool {
	set := map[*customer.Endpoint]bool{}
	for _, e := range endpoints {
		set[e] = true
	}
	return set
}

func kill(endpoints []*customer.Endpoint) {
	for i, e := range endpoints {
		e.Set(illness(i))
	}
}

func heal(endpoints []*customer.Endpoint) {
	for _, e := range endpoints {
		e.Set(customer.Well)
	}
}
