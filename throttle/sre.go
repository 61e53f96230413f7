package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// sre is the formula of Google's SRE book for each tier, the most important first:
//
//	P = max(0, (requests - k*accepts) / (requests + padding))
//
// If the backend rejects calls of a tier, the tier is also charged for the rejected and shed calls
// of the tiers above, as far as its own rejection rate is comparable with theirs. Charging always
// would starve a healthy tier beside a failing one. Charging never would treat all tiers alike.
func sre(tiers []window.Counts, k, padding float64, estimates []estimate) {
	for p := range tiers {
		own := &tiers[p]
		charged, cause := requests(own), CauseOwn
		if own.Refused() > 0 {
			refused, rejectedAbove := charge(tiers, p)
			if own.Rejected > 0 {
				charged += refused
			}
			if rejectedAbove > float64(own.Rejected) { // also while the tier is shed and its own rejections have left the window
				cause = CauseAbove
			}
		}
		estimates[p] = estimate{sreProbability(charged, float64(own.Accepted), k, padding), cause}
	}
}

func sreProbability(requests, accepts, k, padding float64) float64 {
	return min(max(0, (requests-k*accepts)/(requests+padding)), decision.Largest)
}

// charge returns the rejected and shed calls of the tiers above p that tier p is charged for, and
// the part of them that the backend rejected.
func charge(tiers []window.Counts, p int) (refused, rejectedAbove float64) {
	own := rejectionRate(&tiers[p])
	for i := range p {
		above := &tiers[i]
		share := kinship(own, rejectionRate(above))
		refused += share * float64(above.Refused())
		rejectedAbove += share * float64(above.Rejected)
	}
	return refused, rejectedAbove
}

// rejectionRate returns the share of rejections among the answers of a tier. A tier without answers
// counts as 10 % rejected: a tier that is shed completely must not look healthy.
func rejectionRate(c *window.Counts) float64 {
	return (float64(c.Rejected) + 0.1) / (float64(c.Accepted+c.Rejected) + 1)
}

// kinship returns how comparable two rejection rates are, from 0 to 1. The factor 1.25 allows for
// noise between tiers with the same backend. The square lets a tier that starts late get its first
// calls through.
func kinship(own, above float64) float64 {
	share := min(1, 1.25*own/above)
	return share * share
}

// doubtfulRejections is how many rejections more or less may be chance.
const doubtfulRejections = 2

// kinshipByCount returns how comparable two tiers are if rejections are those of a full backend, from 0 to 1. It is 1
// until own would have doubtfulRejections more of them, at the rate of above: fewer prove no difference.
func kinshipByCount(own, above *window.Counts) float64 {
	rate := float64(above.Rejected) / max(1, answersOf(above))
	share := min(1, 1.25*(float64(own.Rejected)+doubtfulRejections)/(rate*answersOf(own)+doubtfulRejections))
	return share * share
}
