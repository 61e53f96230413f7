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
	// The top tier alone is too much if it has topAlone times as many calls as the backend accepts. Its limit
	// grows from there, and is complete at half an accepted number more. If it began earlier, clients whose
	// supply is small by chance would shed High calls while others send Low calls.
	topAlone = 1.25
	// The rejections of the window count for recentPart times the recent ones at most, and newRejection
	// more: a few recent calls without a rejection prove little.
	newRejection = 1
)

// tiered computes the estimate of each tier, the most important first. It skips tiers without a
// request in the window. The first tier with requests follows the documented formula on its own
// counts, unless it alone has more calls than the backend accepts: see shedTop. The tiers below it share,
// from the top down, a multiple of the calls that the backend accepted: see newPool. Rejections above a
// tier count as far as the tier's own rejection rate is comparable. Slow means that late calls count as
// rejected.
func tiered(span, recent []window.Counts, s *stance, k, target, padding float64, slow bool, estimates []estimate) {
	clear(estimates)
	if window.Sum(span).Refused() == 0 {
		return // the probability is 0 for every tier
	}
	top := 0
	for span[top] == (window.Counts{}) {
		top++
	}
	estimates[top] = estimate{sreProbability(requests(&span[top]), float64(span[top].Accepted), k, padding), CauseOwn}
	if s.open {
		return
	}
	shared := newPool(span, recent, s, k, target, padding, slow)
	if s.inAlert() {
		estimates[top].probability = max(estimates[top].probability, shared.shedTop(top))
	}
	for p := top + 1; p < len(span); p++ {
		c := shared.claim(p, estimates)
		estimates[p] = estimate{shared.probability(&c), c.cause}
	}
}

// pool is what the tiers below the top share. Rejections that are forgiven count as accepted.
type pool struct {
	span, demand []window.Counts // the window, and the part of it in which tiers compete
	counted      float64         // share of the window's rejections that is not forgiven
	charged      float64         // the same for the rejections in demand
	accepted     float64         // calls in the window
	accepting    float64         // calls in demand
	probes       float64         // calls in demand that are let through whatever happens
	k, target    float64
	alert        bool
	slow         bool // late calls count as rejected
}

// newPool returns the pool of a state. In alert the tiers share factor times the calls that were
// accepted recently. As the rejections of the whole window approach target times the accepted
// calls, the factor falls from k to 1. While quiet, they share k times the accepted calls of the
// window: the bound of the documented formula.
func newPool(span, recent []window.Counts, s *stance, k, target, padding float64, slow bool) pool {
	o := pool{span: span, demand: span, counted: 1, charged: 1, probes: padding, k: k, target: target, alert: s.inAlert(), slow: slow}
	if o.alert {
		o.demand, o.probes = recent, padding/recentPart
		o.counted, o.charged = unforgiven(span, s.background), unforgiven(recent, s.background)
	}
	o.accepted, o.accepting = acceptedOf(span, o.counted), acceptedOf(o.demand, o.charged)
	return o
}

// unforgiven returns the share of the rejections that remains if as many as background times the
// answers are forgiven. Those of which the backend said that it is full never are.
func unforgiven(tiers []window.Counts, background float64) float64 {
	sum := window.Sum(tiers)
	if sum.Rejected == 0 {
		return 1
	}
	forgiven := min(background*float64(sum.Accepted+sum.Rejected), float64(sum.Rejected-sum.Full))
	return 1 - forgiven/float64(sum.Rejected)
}

// acceptedOf returns the accepted calls and the forgiven rejections.
func acceptedOf(tiers []window.Counts, counted float64) float64 {
	sum := window.Sum(tiers)
	return float64(sum.Accepted) + (1-counted)*float64(sum.Rejected)
}

// claims is the demand of a tier below the top and of the tiers above it. Calls above that were not
// accepted count by kinship.
type claims struct {
	own      float64 // requests of the tier
	all      float64 // own, and the claims of the tiers above
	probes   float64 // calls of the tiers above that were sent
	rejected float64 // by the backend, in the whole window
	least    float64 // lower bound of the probability, from the tiers above
	cause    Cause
}

// claim adds up the claims of tier p. The estimates of the tiers above must have been computed.
func (o *pool) claim(p int, estimates []estimate) claims {
	own := rejectionRate(&o.span[p])
	c := claims{own: requests(&o.demand[p])}
	c.all = c.own
	for i := range p {
		share, above := kinship(own, rejectionRate(&o.span[i])), &o.demand[i]
		forgiven := (1 - o.charged) * float64(above.Rejected)
		c.all += float64(above.Accepted) + forgiven + share*(float64(above.Rejected)-forgiven+float64(above.Shed))
		c.probes += share * requests(above) * (1 - estimates[i].probability)
		c.rejected += share * float64(o.span[i].Rejected)
		if o.alert { // a quiet throttle would shed all tiers for one noisy tier
			c.least = max(c.least, share*estimates[i].probability)
		}
	}
	if c.rejected > float64(o.span[p].Rejected) {
		c.cause = CauseAbove
	}
	c.rejected += float64(o.span[p].Rejected)
	return c
}

// shedTop returns the probability with which the top tier sends no more than the supply in an alert. The
// formula would send k times as much. It is 0 unless the tier alone is too much.
func (o *pool) shedTop(top int) float64 {
	beyond := requests(&o.span[top])/max(1, o.accepted) - topAlone
	if beyond <= 0 {
		return 0
	}
	own := requests(&o.demand[top])
	c := claims{own: own, all: own, rejected: float64(o.span[top].Rejected)}
	return min(1, 2*beyond) * o.probability(&c)
}

// factor returns how many calls the tiers may send for each that was accepted recently. The rejections
// of the whole window count, because few are recent. If few of them are recent for the window, they have
// ended, and count less. Not if calls are late: those come in bursts, and would be forgotten in between.
func (o *pool) factor(c *claims) float64 {
	if !o.alert {
		return o.k
	}
	rejected := o.counted * c.rejected
	if !o.slow {
		latest := o.charged*float64(window.Sum(o.demand).Rejected) + newRejection
		rejected = min(rejected, recentPart*latest)
	}
	return 1 + (o.k-1)*max(0, 1-rejected/(1+o.target*o.accepted))
}

// probability sheds the demand of the tier that exceeds the supply, except its part of the probes.
func (o *pool) probability(c *claims) float64 {
	excess := min(c.own, max(0, c.all-o.factor(c)*o.accepting))
	probe := max(leastProbe*o.probes, o.probes-c.probes)
	return min(max(c.least, excess/(c.own+probe)), decision.Largest)
}

func requests(c *window.Counts) float64 { return float64(c.Requests()) }
