package throttle

import "github.com/spillway-go/spillway/throttle/internal/window"

// sre is the formula of Google's SRE book for each tier, the most important first:
//
//	P = max(0, (requests - k*accepts) / (requests + padding))
//
// A tier that the backend rejects is charged, beside its own requests, for what the tiers above it were refused, as far as its
// own rate of rejection is comparable to theirs. Charging always would starve a healthy tier beside a failing
// one; charging never would treat all tiers alike.
func sre(tiers []window.Counts, k, padding float64, verdicts []verdict) {
	for p := range tiers {
		own := &tiers[p]
		charged, cause := requests(own), CauseOwn
		if own.Rejected+own.Shed > 0 {
			refused, rejectedAbove := charge(tiers, p)
			if own.Rejected > 0 {
				charged += refused
			}
			if rejectedAbove > float64(own.Rejected) { // also while the tier sheds, but its own rejections are forgotten
				cause = CauseAbove
			}
		}
		verdicts[p] = verdict{sreProbability(charged, float64(own.Accepted), k, padding), cause}
	}
}

// sreProbability is the formula alone.
func sreProbability(requests, accepts, k, padding float64) float64 {
	return min(max(0, (requests-k*accepts)/(requests+padding)), almostOne)
}

// charge returns how much of what the tiers above p were refused tier p answers for, in all and counting the backend's
// rejections alone.
func charge(tiers []window.Counts, p int) (refused, rejectedAbove float64) {
	own := rejectionRate(&tiers[p])
	for i := range p {
		above := &tiers[i]
		share := kinship(own, rejectionRate(above))
		refused += share * float64(above.Rejected+above.Shed)
		rejectedAbove += share * float64(above.Rejected)
	}
	return refused, rejectedAbove
}

// rejectionRate is the part of a tier's answers that were rejections. Without answers it is taken for one in ten: a tier that
// is kept out by an overload must not look healthy for that.
func rejectionRate(c *window.Counts) float64 {
	return (float64(c.Rejected) + 0.1) / (float64(c.Accepted+c.Rejected) + 1)
}

// kinship is how far a tier with rejection rate own shares the fate of one with the rate above, from 0 to 1. A
// quarter is noise between tiers that share everything; the square keeps a tier that starts late from being stuck.
func kinship(own, above float64) float64 {
	share := min(1, 1.25*own/above)
	return share * share
}

// sreDebts are at least requests - k*accepts of each tier, so that not more than 0 proves its probability to be 0. They count
// what the tiers above were refused in full.
func sreDebts(tiers []window.Counts, k float64, owes []debts) {
	refused := uint64(0)
	for p := range tiers {
		refused += tiers[p].Rejected + tiers[p].Shed
		owes[p] = debts{span: float64(refused) - (k-1)*float64(tiers[p].Accepted)}
	}
}
