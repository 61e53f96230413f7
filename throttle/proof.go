package throttle

import (
	"math"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// proof is what is known of the suffixes of the window: of what it would hold later if nothing more happened, because the oldest buckets
// are forgotten first. Walking over them costs as much as ten calls, so it is done once a bucket, and only if the window is not
// in debt as it is; from one walk to the next the debts of every suffix change by the same amount.
type proof struct {
	walked int64 // the number of the bucket that was open at the walk
	k      float64
	ever   []window.Counts // what the window had seen by then
	worst  []debts         // the largest of any suffix, by priority
	base   []debts         // and those of everything that the window had seen
	now    []debts         // of everything that it has seen now
	some   []debts         // of a part of it
}

func newProof(n int) proof {
	all := make([]debts, 4*n)
	return proof{ever: make([]window.Counts, n), worst: all[:n], base: all[n : 2*n], now: all[2*n : 3*n], some: all[3*n:]}
}

// harmless returns, one bit each, the priorities whose probability is 0 and stays 0 while the window moves on, as long as
// nothing is refused. The reading and the verdicts must have been made before.
func (t *Throttle) harmless(k float64) uint32 {
	g := &t.gates
	var proven, doubtful uint32
	for p, sum := range g.reading.Span {
		switch {
		case g.verdicts[p].probability > 0:
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

// lowestOnes keeps the ones below the lowest zero: a tier of Tiered is only as safe as those above it. If it was refused nothing
// itself, it is no less so: it owes what they do, and has more accepts to pay it with.
func lowestOnes(bits uint32) uint32 { return bits & (bits ^ (bits + 1)) }

// settled returns, one bit each, the priorities that no suffix of the window leaves in debt. It need not find those that were
// refused nothing.
func (t *Throttle) settled(k float64) uint32 {
	g := &t.gates
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

// solvent reports whether the window leaves any doubtful priority without debt as it is. If not, there is nothing to walk for.
func (t *Throttle) solvent(k float64) bool {
	g := &t.gates
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

// walk makes the proof anew.
func (t *Throttle) walk(k float64) {
	f := &t.gates.proof
	f.walked, f.k = t.window.Number(), k
	for p := range f.worst {
		f.worst[p] = debts{span: math.Inf(-1), recent: math.Inf(-1)}
	}
	t.window.Suffixes(f.ever, t.gates.scratch, func(age int, since []window.Counts) {
		t.owed(since, k, f.some)
		for p := range since {
			f.worst[p].worsen(f.some[p], age)
		}
	})
	t.owed(f.ever, k, f.base)
}
