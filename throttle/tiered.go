package throttle

import "github.com/spillway-go/spillway/throttle/internal/window"

const (
	// recentPart is which part of its window Tiered takes for recent: what is offered and accepted right now. Half as much is
	// noise at low rates, the whole window makes recovery as slow as the window is long.
	recentPart = 5
	// leastProbe is the part of the probes that a tier keeps when those above it probe enough for all. A larger one costs High:
	// every client of a fleet probes.
	leastProbe = 1.0 / 64
)

// tiered decides for each tier, the most important first. Tiers without a request in the window are skipped, and the first
// one with any follows the documented formula on its own counts. The tiers below it share, from the top down, what the
// backend has recently accepted, times k; and as the rejections of the whole window approach the target's share of the
// accepts, k falls to 1. What was refused above a tier counts as far as the tier is rejected at a comparable rate.
func tiered(span, recent []window.Counts, k, target, padding float64, verdicts []verdict) {
	clear(verdicts)
	if !refusedAny(span) {
		return // everybody has what he wants
	}
	top := 0
	for span[top] == (window.Counts{}) {
		top++
	}
	verdicts[top] = verdict{sreProbability(requests(&span[top]), float64(span[top].Accepted), k, padding), CauseOwn}
	accepted, accepting := accepts(span), accepts(recent)
	for p := top + 1; p < len(span); p++ {
		c := claim(span, recent, p, verdicts)
		factor := 1 + (k-1)*max(0, 1-c.rejected/(1+target*accepted))
		verdicts[p] = verdict{c.probability(factor*accepting, padding/recentPart), c.cause}
	}
}

// claims is what a tier below the top and those above it want of the backend. What is theirs above counts as far as the
// tier shares their fate, except for what was accepted.
type claims struct {
	own      float64 // requests of the tier itself, recently
	all      float64 // and of those above it
	probes   float64 // calls that go out above it, recently
	rejected float64 // by the backend, in the whole window
	least    float64 // probability, so as not to fare better than those above
	cause    Cause
}

// claim adds up the claims of tier p. The verdicts on the tiers above it must have been given.
func claim(span, recent []window.Counts, p int, verdicts []verdict) claims {
	own := rejectionRate(&span[p])
	c := claims{own: requests(&recent[p])}
	c.all = c.own
	for i := range p {
		share := kinship(own, rejectionRate(&span[i]))
		c.all += float64(recent[i].Accepted) + share*float64(recent[i].Rejected+recent[i].Shed)
		c.probes += share * requests(&recent[i]) * (1 - verdicts[i].probability)
		c.rejected += share * float64(span[i].Rejected)
		c.least = max(c.least, share*verdicts[i].probability)
	}
	if c.rejected > float64(span[p].Rejected) {
		c.cause = CauseAbove
	}
	c.rejected += float64(span[p].Rejected)
	return c
}

// probability sheds what the tier wants in excess of what there is, but for its part of the probes.
func (c *claims) probability(supply, probes float64) float64 {
	excess := min(c.own, max(0, c.all-supply))
	probe := max(leastProbe*probes, probes-c.probes)
	return min(max(c.least, excess/(c.own+probe)), almostOne)
}

func refusedAny(tiers []window.Counts) bool {
	for i := range tiers {
		if tiers[i].Rejected+tiers[i].Shed > 0 {
			return true
		}
	}
	return false
}

func requests(c *window.Counts) float64 { return float64(c.Accepted + c.Rejected + c.Shed) }

func accepts(tiers []window.Counts) float64 {
	sum := uint64(0)
	for i := range tiers {
		sum += tiers[i].Accepted
	}
	return float64(sum)
}

// tieredDebts are debts that prove the probability of a tier to be 0, if those of the tiers above it are. As the top tier it
// owes the formula's debt on its own counts. Below, half of k is granted if rejections stay below half of the target, and
// half of k must then pay for what was recently refused. Both count what was refused above in full.
func tieredDebts(tiers []window.Counts, k, target float64, owes []debts) {
	tolerated := (1 + target*accepts(tiers)) / 2
	var accepted, rejected, refused uint64
	for p := range tiers {
		own := &tiers[p]
		accepted += own.Accepted
		rejected += own.Rejected
		refused += own.Rejected + own.Shed
		owes[p] = debts{
			span:   float64(own.Rejected+own.Shed) - (k-1)*float64(own.Accepted),
			target: float64(rejected) - tolerated,
			recent: float64(refused) - (k-1)/2*float64(accepted),
		}
	}
}
