package overload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// traffic draws the calls that the clients offer during one phase. It draws the fate of every call as well, whether it is
// admitted or not, so that the calls do not depend on the policy.
type traffic struct {
	dice    *rand.Rand
	clients int
	gap     float64 // between two calls on average, in nanoseconds; 0 if there are none
	upTo    Tiers   // the share of calls with this priority or a higher one
	doomed  Tiers   // the share that the backend rejects whatever its load
	perfect bool    // none is doomed
}

// offer is a call that a client would make.
type offer struct {
	client   int
	priority throttle.Priority
	doomed   bool
}

// newTraffic returns the traffic of a phase, with load in multiples of capacity.
func newTraffic(d *rand.Rand, clients int, p *Phase, capacity float64) traffic {
	t := traffic{dice: d, clients: clients, doomed: doomed(p), perfect: true}
	total := 0.0
	for i, load := range p.Load {
		total += load
		t.upTo[i] = total
		t.perfect = t.perfect && t.doomed[i] == 0
	}
	if total > 0 {
		t.gap = float64(time.Second) / (total * capacity)
	}
	for i := range t.upTo {
		t.upTo[i] /= total
	}
	return t
}

// doomed returns the share of the calls that the backend rejects for reasons other than its load.
func doomed(p *Phase) Tiers {
	var all Tiers
	for i, failing := range p.Failing {
		all[i] = 1 - (1-p.Errors)*(1-failing)
	}
	return all
}

// next draws how long it is until the next call, and whether that is sooner than the end, which is left away.
func (t *traffic) next(left time.Duration) (time.Duration, bool) {
	if t.gap == 0 {
		return 0, false
	}
	wait := t.dice.ExpFloat64() * t.gap
	return time.Duration(min(wait, float64(left))), wait < float64(left)
}

// draw draws the call.
func (t *traffic) draw() offer {
	o := offer{}
	for mix := t.dice.Float64(); o.priority < throttle.Low && mix >= t.upTo[o.priority]; {
		o.priority++
	}
	o.client = t.dice.IntN(t.clients)
	o.doomed = !t.perfect && t.dice.Float64() < t.doomed[o.priority]
	return o
}

// dice returns a generator for one purpose in one case. The policy has no part in its seed, so that all policies meet the same
// calls; and the hash keeps neighbouring seeds from having anything in common.
func dice(seed uint64, scenario, course, purpose string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", seed, scenario, course, purpose))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}
