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
	if s.settled && o.isSteady(s.lost) {
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

// isSteady reports whether the recent demand differs from that of the window by chance only, and the backend says that
// it is full, or has lost capacity. Then tiers compete in the window: a client of a large fleet has a few recent calls
// of each tier, so by these it would often take low tiers for high ones.
func (o *pool) isSteady(lost bool) bool {
	expected := o.asked / recentPart
	return o.hold == noHold && (lost || 2*o.full > 1) && math.Abs(o.wanted-expected) < surelyChanged*math.Sqrt(max(1, expected))
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

// probability sheds the demand of the tier that exceeds the supply, except its part of the probes.
func (o *pool) probability(c *claims) float64 {
	excess := min(c.own, max(0, c.all-o.supply(c)))
	probe := max(leastProbe*o.probes, o.probes-c.probes)
	return min(max(c.least, excess/(c.own+probe)), decision.Largest)
}

func requests(c *window.Counts) float64 { return float64(c.Requests()) }
