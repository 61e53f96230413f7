package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// recentPart is the part of the window that Tiered calls recent: 1/recentPart of it. Half as
	// much is noise at low rates. The whole window makes recovery as slow as the window is long.
	recentPart = 5
	// leastProbe is the part of the probes that a tier keeps if the tiers above it probe enough for
	// all. A larger part costs High calls, because every client of a fleet probes.
	leastProbe = 1.0 / 64
)

// tiered computes the estimate of each tier, the most important first. It skips tiers without a
// request in the window. The first tier with requests follows the documented formula on its own
// counts. The tiers below it share, from the top down, k times the calls that the backend recently
// accepted. As the rejections of the whole window approach target times the accepted calls, k falls
// to 1. Rejections above a tier count as far as the tier's own rejection rate is comparable.
func tiered(span, recent []window.Counts, k, target, padding float64, estimates []estimate) {
	clear(estimates)
	all := window.Sum(span)
	if all.Refused() == 0 {
		return // the probability is 0 for every tier
	}
	top := 0
	for span[top] == (window.Counts{}) {
		top++
	}
	estimates[top] = estimate{sreProbability(requests(&span[top]), float64(span[top].Accepted), k, padding), CauseOwn}
	accepted, accepting := float64(all.Accepted), float64(window.Sum(recent).Accepted)
	for p := top + 1; p < len(span); p++ {
		c := claim(span, recent, p, estimates)
		factor := 1 + (k-1)*max(0, 1-c.rejected/(1+target*accepted))
		estimates[p] = estimate{c.probability(factor*accepting, padding/recentPart), c.cause}
	}
}

// claims is the demand of a tier below the top and of the tiers above it. Calls above that were not
// accepted count by kinship.
type claims struct {
	own      float64 // recent requests of the tier
	all      float64 // own, and the claims of the tiers above
	probes   float64 // recent calls of the tiers above that were sent
	rejected float64 // by the backend, in the whole window
	least    float64 // lower bound of the probability, from the tiers above
	cause    Cause
}

// claim adds up the claims of tier p. The estimates of the tiers above must have been computed.
func claim(span, recent []window.Counts, p int, estimates []estimate) claims {
	own := rejectionRate(&span[p])
	c := claims{own: requests(&recent[p])}
	c.all = c.own
	for i := range p {
		share := kinship(own, rejectionRate(&span[i]))
		c.all += float64(recent[i].Accepted) + share*float64(recent[i].Rejected+recent[i].Shed)
		c.probes += share * requests(&recent[i]) * (1 - estimates[i].probability)
		c.rejected += share * float64(span[i].Rejected)
		c.least = max(c.least, share*estimates[i].probability)
	}
	if c.rejected > float64(span[p].Rejected) {
		c.cause = CauseAbove
	}
	c.rejected += float64(span[p].Rejected)
	return c
}

// probability sheds the demand of the tier that exceeds the supply, except its part of the probes.
func (c *claims) probability(supply, probes float64) float64 {
	excess := min(c.own, max(0, c.all-supply))
	probe := max(leastProbe*probes, probes-c.probes)
	return min(max(c.least, excess/(c.own+probe)), decision.Largest)
}

func requests(c *window.Counts) float64 { return float64(c.Requests()) }
