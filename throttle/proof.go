package throttle

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// proof is what is known of the suffixes of the window: of what it would hold later if nothing more happened, because the oldest buckets
// are forgotten first. Walking over them costs as much as ten calls, so it is done once a bucket; from one walk to the next the
// debt of every suffix changes by the same amount.
type proof struct {
	ends  time.Duration // of the bucket that was open at the walk
	k     float64
	base  []window.Counts // what the window had ever seen at the walk
	worst []float64       // the largest debt of any suffix, by priority
}

// harmless returns, one bit each, the priorities whose probability is 0 and stays 0 while the window moves on, as long as
// nothing is refused. The sums and verdicts must have been made before.
func (t *Throttle) harmless(k float64) uint32 {
	g := &t.gates
	var proven, doubtful uint32
	for p, sum := range g.sums {
		switch {
		case g.verdicts[p].probability > 0:
		case sum.Rejected+sum.Shed == 0: // and so not answering for those above
			proven |= 1 << p
		default:
			doubtful |= 1 << p
		}
	}
	if doubtful == 0 {
		return proven
	}
	if g.proof.ends != t.window.Ends() || g.proof.k != k {
		t.walk(k)
	}
	for p := range g.sums {
		if doubtful&(1<<p) != 0 && g.proof.debt(g.ever, p) <= 0 {
			proven |= 1 << p
		}
	}
	return proven
}

// walk makes the proof anew.
func (t *Throttle) walk(k float64) {
	proof := &t.gates.proof
	proof.ends, proof.k = t.window.Ends(), k
	for p := range proof.worst {
		proof.worst[p] = math.Inf(-1)
	}
	t.window.Suffixes(proof.base, t.gates.scratch, func(since []window.Counts) {
		for p := range since {
			proof.worst[p] = max(proof.worst[p], sreDebt(since, p, k))
		}
	})
}

// debt is the largest debt of any suffix of tier p, when the window has ever seen what is told.
func (f *proof) debt(ever []window.Counts, p int) float64 {
	return f.worst[p] + sreDebt(ever, p, f.k) - sreDebt(f.base, p, f.k)
}
