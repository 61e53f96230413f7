package throttle

import (
	"math"

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
	// The weights of what a client has seen of its share: see pool.share. The rest is the weight of
	// othersShare, the share of the demand that clients have in an overload of five times the capacity.
	recentWeight, usualWeight = 0.5, 0.4
	othersShare               = 0.2
	// While the demand is steady, what was accepted recently has this weight, and othersShare steadyOthers and up to
	// chanceOthers more, as the window has fewer than enoughAccepted: the shares of small clients drift by chance.
	steadyWeight, steadyOthers, chanceOthers = 0.2, 0.04, 0.14
	enoughAccepted                           = 140
	// The share of the window is not what is remembered if it differs by surelyChanged standard errors.
	surelyChanged = 3
	// The demand has fallen if the recent demand is below this share of the usual one.
	fallen = 0.6
	// More rejections than the target make the supply fall slowly, because the share of the calls that are
	// accepted falls by itself.
	fall, leastChange = 0.05, 0.9
	// A rejection of which the backend said that it is full counts 1 + fullWeight times: there is no need to leave
	// room for errors. And the supply grows by fullGrowth at most after such ones, and by chanceGrowth less as
	// answers are few: then it is chance whether there was a rejection, and the clients that saw none would send
	// twice as much.
	fullWeight, fullGrowth, chanceGrowth = 2, 0.35, 0.27
	// A window without a rejection may be chance, or the end of the overload: the supply grows by freeGrowth at most,
	// unless surelyFree rejections were expected.
	freeGrowth, surelyFree = 0.5, 3.5
	// The backend rejects calls of any tenant. If the throttle spares the tenants below their share, such a rejection
	// counts 1 + sparingWeight times.
	sparingWeight = 5
)

// terms is what the estimates depend on, besides the calls and the stance.
type terms struct {
	k, target, padding float64
	queue              queue
	spares             bool // tenants that take less than their share
}

// tiered computes the estimate of each tier, the most important first. It skips tiers without a
// request in the window. The first tier with requests follows the documented formula on its own
// counts, unless it alone has more calls than the backend accepts: see shedTop. The tiers below it share,
// from the top down, a multiple of the calls that the backend accepted: see newPool. Rejections above a
// tier count as far as the tier's own rejection rate is comparable. Slow means that late calls count as
// rejected.
func tiered(r *window.Reading, s *stance, t *terms, estimates []estimate) {
	clear(estimates)
	span := r.Span
	if s.relieved || window.Sum(span).Refused() == 0 {
		return // the probability is 0 for every tier
	}
	top := 0
	for span[top] == (window.Counts{}) {
		top++
	}
	estimates[top] = estimate{sreProbability(requests(&span[top]), float64(span[top].Accepted), t.k, t.padding), CauseOwn}
	if s.open {
		return
	}
	var memory tierTotals
	shared := newPool(r, s, t, s.known(r, &memory))
	if s.inAlert() {
		estimates[top].probability = shared.shedTop(top, estimates[top].probability)
	}
	for p := top + 1; p < len(span); p++ {
		c := shared.claim(p, estimates)
		estimates[p] = estimate{shared.probability(&c), c.cause}
	}
}

// pool is what the tiers below the top share. Rejections that are forgiven count as accepted.
type pool struct {
	terms
	span, demand  []window.Counts // the window, and the part of it in which tiers compete
	known         []window.Counts // the window, or what is remembered of the alert
	counted       float64         // share of the window's rejections that is not forgiven
	charged       float64         // the same for the rejections in demand
	accepted      float64         // calls in the window
	accepting     float64         // calls in demand
	probes        float64         // calls in demand that are let through whatever happens
	alert         bool
	full          float64 // share of the rejections of which the backend said that it is full
	free          bool    // no call of the window was rejected
	saidFull      bool    // in a load report
	asked, wanted float64 // calls of the window, and in demand
	latest        float64 // recent rejections that are not forgiven
	steady        bool    // demand is the window: see isSteady
	hold          hold
}

// newPool returns the pool of a state. In alert the tiers share a little more or less than was accepted
// recently: see change. While quiet, they share k times the accepted calls of the window: the bound of the
// documented formula.
func newPool(r *window.Reading, s *stance, t *terms, known []window.Counts) pool {
	span, recent := r.Span, r.Recent
	o := pool{terms: *t, span: span, known: known, demand: span, counted: 1, charged: 1, probes: t.padding, alert: s.inAlert(), saidFull: s.saidFull, hold: s.hold}
	if o.alert {
		o.demand, o.probes = recent, t.padding/recentPart
		o.counted, o.charged = unforgiven(span, s.background), unforgiven(recent, s.background)
	}
	o.accepted, o.accepting = acceptedOf(span, o.counted), acceptedOf(o.demand, o.charged)
	all, latest := window.Sum(span), window.Sum(o.demand)
	if !t.queue.late {
		o.full, o.free = fullOf(all, window.Sum(known)), all.Rejected == 0
	}
	o.asked, o.wanted, o.latest = requests(&all), requests(&latest), o.charged*float64(latest.Rejected)
	if s.settled && o.isSteady() {
		o.steady, o.demand, o.charged, o.probes = true, span, o.counted, t.padding
		o.accepting, o.wanted = recentPart*o.accepting, o.asked
	}
	return o
}

// fullOf returns the share of the rejections of which the backend said that it is full. A small client has windows
// without a rejection by chance: then what it remembers holds.
func fullOf(all, known window.Counts) float64 {
	if all.Rejected == 0 {
		all = known
	}
	return float64(all.Full) / max(1, float64(all.Rejected))
}

// isSteady reports whether the backend says that it is full, and the recent demand differs from that of the window by
// chance only. Then tiers compete in the window: a client of a large fleet has a few recent calls of each tier, so by
// these it would often take low tiers for high ones.
func (o *pool) isSteady() bool {
	expected := o.asked / recentPart
	return o.hold == noHold && 2*o.full > 1 && math.Abs(o.wanted-expected) < surelyChanged*math.Sqrt(max(1, expected))
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
	own := rejectionRate(&o.known[p])
	c := claims{own: requests(&o.demand[p])}
	c.all = c.own
	for i := range p {
		share, above := kinship(own, rejectionRate(&o.known[i])), &o.demand[i]
		share = max(share, o.full*kinshipByCount(&o.known[p], &o.known[i]))
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

// shedTop returns the probability of the top tier in an alert: that of the formula, which sends k times what is
// accepted, or more if the tier alone is too much. If a queue was found, the formula does not count: it would shed for
// the calls that were refused when the queue was too long.
func (o *pool) shedTop(top int, formula float64) float64 {
	own := requests(&o.demand[top])
	c := claims{own: own, all: own, rejected: float64(o.span[top].Rejected)}
	beyond := requests(&o.span[top])/max(1, o.accepted) - topAlone
	limited := min(1, 2*max(0, beyond)) * o.probability(&c)
	if o.queue.found {
		return limited
	}
	return max(formula, limited)
}

// supply returns how many calls the tiers may send.
func (o *pool) supply(c *claims) float64 {
	if !o.alert {
		return o.k * o.accepting
	}
	supply, held := o.change(c)*o.share(), heldShare*o.wanted
	switch o.hold {
	case holding:
		return held
	case sparing:
		return max(held, supply)
	}
	return supply
}

// share returns what a client may send if the supply does not change. What was accepted recently is partly
// chance. If the next share were just that, the shares of a fleet would drift apart: some clients would
// shed High while others send Low. So it returns slowly to what other clients have, of the same demand.
func (o *pool) share() float64 {
	if o.wanted*recentPart < fallen*o.asked {
		return o.accepting // the shares of the demand before are too small
	}
	if o.queue.found {
		return o.queue.share(o.accepting, o.wanted)
	}
	recent, others := recentWeight, 1-recentWeight-usualWeight
	if o.steady {
		recent, others = steadyWeight, steadyOthers+chanceOthers*o.chance()
	}
	return math.Pow(o.accepting, recent) * math.Pow(o.usualShare()*o.wanted, 1-recent-others) * math.Pow(othersShare*o.wanted, others)
}

// chance returns how much of what the window shows is chance, from 0 to 1.
func (o *pool) chance() float64 {
	few := enoughAccepted / max(1, o.accepted)
	return min(1, few*few)
}

// usualShare returns which share of the demand was accepted: as it is remembered, unless that of the window
// differs by more than chance, or the overload may be over.
func (o *pool) usualShare() float64 {
	all := window.Sum(o.known)
	remembered := acceptedOf(o.known, o.counted) / max(1, requests(&all))
	if expected := remembered * o.asked; math.Abs(o.accepted-expected) > surelyChanged*math.Sqrt(max(1, expected)) || o.steady && o.free {
		return o.accepted / max(1, o.asked)
	}
	return remembered
}

// change returns how much larger the supply becomes. As the rejections of the window approach target times
// the accepted calls, it falls from k to 1. Those of which the backend said that it is full count more, and let
// it grow less; but not late calls. The whole window counts, because few rejections are recent. If few of them
// are recent for the window, they have ended, and count less; not if calls are late: those come in bursts, and
// would be forgotten in between. If a queue was found, its length says more than rejections.
func (o *pool) change(c *claims) float64 {
	if o.queue.found {
		return o.queue.change(o.k)
	}
	rejected := o.counted * c.rejected
	if !o.queue.late {
		rejected = min(rejected, recentPart*(o.latest+newRejection))
	}
	weight, growth := o.full, o.k-1
	if !o.saidFull {
		weight, growth = o.weightOfFull()*o.full, growth+o.full*(min(growth, o.mostGrowth())-growth)
	}
	beyond := (1+weight)*rejected/(1+o.target*o.accepted) - 1
	if beyond > 0 {
		return max(leastChange, 1-fall*beyond)
	}
	return 1 - growth*beyond
}

// mostGrowth returns by how much the supply grows at most if the backend says that it is full.
func (o *pool) mostGrowth() float64 {
	if !o.free {
		return fullGrowth - chanceGrowth*o.chance()
	}
	before := window.Sum(o.known)
	if float64(before.Rejected)*o.accepted >= surelyFree*(answersOf(&before)-o.accepted) {
		return 1
	}
	return freeGrowth
}

func (o *pool) weightOfFull() float64 {
	if o.spares {
		return sparingWeight
	}
	return fullWeight
}

// probability sheds the demand of the tier that exceeds the supply, except its part of the probes.
func (o *pool) probability(c *claims) float64 {
	excess := min(c.own, max(0, c.all-o.supply(c)))
	probe := max(leastProbe*o.probes, o.probes-c.probes)
	return min(max(c.least, excess/(c.own+probe)), decision.Largest)
}

func requests(c *window.Counts) float64 { return float64(c.Requests()) }
