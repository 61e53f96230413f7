package throttle

import (
	"math"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
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
	// The rejections of the window count for recentPart times the recent ones at most, and newRejection
	// more: a few recent calls without a rejection prove little.
	newRejection = 1
	// More rejections than the target make the supply fall slowly, because the share of the calls that are
	// accepted falls by itself.
	fall, leastChange = 0.05, 0.9
	// Without rejections the supply grows by this at least, however low the Ratio is: pool.share lowers it by up to 15 %,
	// so that with less growth shedding would not end.
	leastGrowth = 0.2
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
// the accepted calls, it falls from k to 1, or from 1.2 if k is less. Those of which the backend said that it is
// full count more, and let it grow less; but not late calls. The whole window counts, because few rejections are
// recent. If few of them are recent for the window, they have ended, and count less; not if calls are late: those
// come in bursts, and would be forgotten in between. If a queue was found, its length says more than rejections.
func (o *pool) change(c *claims) float64 {
	if o.queue.found {
		return o.queue.change(o.k)
	}
	rejected := o.counted * c.rejected
	if !o.queue.late {
		rejected = min(rejected, recentPart*(o.latest+newRejection))
	}
	weight, growth := o.full, o.growth()
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
		return o.growth()
	}
	return freeGrowth
}

func (o *pool) growth() float64 { return max(o.k-1, leastGrowth) }

func (o *pool) weightOfFull() float64 {
	if o.spares {
		return sparingWeight
	}
	return fullWeight
}
