package throttle

import (
	"math"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// proof holds the debts of the suffixes of the window: what the window would hold later if nothing
// more happened, because the oldest buckets leave it first. Walking over the suffixes costs as much
// as ten calls. So it is done once per bucket, and only if the whole window has no debt. Between
// two walks the debts of every suffix change by the same amount.
type proof struct {
	walked int64 // number of the current bucket at the walk
	k      float64
	ever   []window.Counts // counts of the window at the walk
	worst  []debts         // largest of any suffix, by priority
	base   []debts         // of ever
	now    []debts         // of the counts now
	some   []debts         // of a part of them
}

func newProof(n int) proof {
	all := make([]debts, 4*n)
	return proof{ever: make([]window.Counts, n), worst: all[:n], base: all[n : 2*n], now: all[2*n : 3*n], some: all[3*n:]}
}

// harmless returns one bit for each priority whose probability is 0 and stays 0 while the window
// moves, if nothing is rejected. The reading and the estimates must be up to date.
func (t *Throttle) harmless(k float64) uint32 {
	g := &t.decisions
	var proven, doubtful uint32
	for p, sum := range g.reading.Span {
		switch {
		case g.estimates[p].probability > 0:
		case sum.Rejected+sum.Shed > 0:
			doubtful |= 1 << p
		default:
			proven |= 1 << p
		}
	}
	if doubtful != 0 {
		proven |= t.settled(k) & doubtful
	}
	if t.policy == Tiered {
		proven = lowestOnes(proven)
	}
	return proven
}

// lowestOnes keeps the ones below the lowest zero. With Tiered, a tier is only harmless if all
// tiers above it are. A tier without rejections of its own owes what they owe and has more accepted
// calls.
func lowestOnes(bits uint32) uint32 { return bits & (bits ^ (bits + 1)) }

// settled returns one bit for each priority that has no debt in any suffix of the window. It may
// omit priorities without rejections.
func (t *Throttle) settled(k float64) uint32 {
	g := &t.decisions
	f := &g.proof
	if f.walked != t.window.Number() || f.k != k {
		if !t.solvent(k) {
			return 0
		}
		t.walk(k)
	}
	t.owed(g.reading.Ever, k, f.now)
	var settled uint32
	for p := range f.worst {
		if f.worst[p].plus(f.now[p].minus(f.base[p])).none() {
			settled |= 1 << p
		}
	}
	return settled
}

// solvent reports whether a doubtful priority has no debt in the whole window. If none, a walk is
// useless.
func (t *Throttle) solvent(k float64) bool {
	g := &t.decisions
	t.owed(g.reading.Span, k, g.proof.now)
	t.owed(g.reading.Recent, k, g.proof.some)
	for p, whole := range g.proof.now {
		whole.recent = g.proof.some[p].recent
		refused := g.reading.Span[p].Rejected+g.reading.Span[p].Shed > 0
		if refused && whole.none() {
			return true
		}
	}
	return false
}

// walk computes the debts of all suffixes.
func (t *Throttle) walk(k float64) {
	f := &t.decisions.proof
	f.walked, f.k = t.window.Number(), k
	for p := range f.worst {
		f.worst[p] = debts{span: math.Inf(-1), recent: math.Inf(-1)}
	}
	t.window.Suffixes(f.ever, t.decisions.scratch, func(age int, since []window.Counts) {
		t.owed(since, k, f.some)
		for p := range since {
			f.worst[p].worsen(f.some[p], age)
		}
	})
	t.owed(f.ever, k, f.base)
}
