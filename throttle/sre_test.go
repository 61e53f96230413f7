package throttle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

func judgeAll(tiers []window.Counts, k, padding float64) []estimate {
	estimates := make([]estimate, len(tiers))
	sre(tiers, k, padding, estimates)
	return estimates
}

func TestSREFormula(t *testing.T) {
	for name, c := range map[string]struct {
		tiers []window.Counts
		want  []float64
	}{
		"sheds are requests": {[]window.Counts{tier(50, 30, 30)}, []float64{10. / 170}},
		"a tier that shares the fate is charged for those above": { // equal rates: in full
			[]window.Counts{tier(10, 90, 100), tier(10, 90, 0)},
			[]float64{180. / 260, (100. + 190 - 20) / (100 + 190 + 60)},
		},
		"a tier that the backend does not reject answers for nobody": {
			[]window.Counts{tier(0, 4000, 0), tier(10, 0, 0), tier(0, 0, 0)},
			[]float64{4000. / 4060, 0, 0},
		},
		"nor does one whose own rejections are forgotten": {
			[]window.Counts{tier(0, 4000, 0), tier(0, 0, 100)},
			[]float64{4000. / 4060, 100. / 160},
		},
		"a tier rejected at half the rate is charged in part": {
			[]window.Counts{tier(0, 999, 0), tier(599, 400, 0)},
			[]float64{999. / 1059, charged(999, 400+599, 599, math.Pow(1.25*(400.1/1000)/(999.1/1000), 2))},
		},
	} {
		for p, got := range judgeAll(c.tiers, 2, 60) {
			wantNear(t, fmt.Sprint(name, ": tier ", p), got.probability, c.want[p])
		}
	}
}

// charged is the formula, at K = 2 and padding 60, for a tier that answers for a share of what was refused above.
func charged(above, requests, accepts, share float64) float64 {
	r := requests + share*above
	return max(0, (r-2*accepts)/(r+60))
}

func TestCauseIsAboveWhenMoreWasRejectedThere(t *testing.T) {
	for name, c := range map[string]struct {
		tiers       []window.Counts
		sre, tiered Cause
	}{
		"the top tier's are its own":       {[]window.Counts{tier(10, 90, 0)}, CauseOwn, CauseOwn},
		"none":                             {[]window.Counts{tier(0, 100, 0), tier(0, 0, 0)}, CauseOwn, CauseAbove},
		"mostly above":                     {[]window.Counts{tier(10, 90, 0), tier(1, 9, 0)}, CauseAbove, CauseAbove},
		"mostly its own":                   {[]window.Counts{tier(0, 20, 0), tier(1, 90, 0)}, CauseOwn, CauseOwn},
		"as many as above":                 {[]window.Counts{tier(0, 20, 0), tier(0, 20, 0)}, CauseOwn, CauseOwn},
		"sheds above are not rejections":   {[]window.Counts{tier(1, 9, 900), tier(10, 90, 0)}, CauseOwn, CauseOwn},
		"above, but incomparable":          {[]window.Counts{tier(0, 900, 0), tier(900, 10, 0)}, CauseOwn, CauseOwn},
		"above, and its own are forgotten": {[]window.Counts{tier(90, 10, 0), tier(0, 0, 100)}, CauseAbove, CauseAbove},
		"all are forgotten":                {[]window.Counts{tier(90, 0, 10), tier(0, 0, 100)}, CauseOwn, CauseOwn},
		"above, but nothing is shed":       {[]window.Counts{tier(0, 900, 0), tier(900, 0, 0)}, CauseOwn, CauseAbove},
	} {
		last := len(c.tiers) - 1
		for policy, got := range map[string]estimate{
			"SRE":                          judgeAll(c.tiers, 2, 60)[last],
			"Tiered, all of it recent":     tieredAll(c.tiers, c.tiers, alarmed, 2, 0.1, 10)[last],
			"Tiered, nothing of it recent": tieredAll(c.tiers, make([]window.Counts, last+1), alarmed, 2, 0.1, 10)[last],
		} {
			want := c.tiered
			if policy == "SRE" {
				want = c.sre
			}
			wantSame(t, name+", "+policy, got.cause, want)
		}
	}
}

// anyTiers makes up a window's content: small and huge, empty and one-sided.
func anyTiers(dice *rand.Rand) []window.Counts {
	tiers := make([]window.Counts, 1+dice.IntN(MaxPriorities))
	for i := range tiers {
		for _, count := range []*uint64{&tiers[i].Accepted, &tiers[i].Rejected, &tiers[i].Shed} {
			if dice.IntN(3) > 0 {
				*count = dice.Uint64N(1 << dice.IntN(40))
			}
		}
	}
	return tiers
}
