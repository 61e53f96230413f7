package overload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// traffic generates the calls that the clients offer during one phase. It also decides which calls
// fail for reasons other than load, whether they are admitted or not. So the calls do not depend on
// the policy.
type traffic struct {
	random  *rand.Rand
	clients int     // that make calls: the first ones
	unequal bool    // their rates are from 1 to 100
	gap     float64 // mean time between two calls in nanoseconds; 0 if there are no calls
	upTo    Tiers   // share of the calls with this priority or a higher one
	failing Tiers   // share of the calls that fail for reasons other than load
	healthy bool    // failing is zero
	tenants *tenantMix
}

type offer struct {
	at       time.Duration // of the first attempt
	client   int
	priority throttle.Priority
	tenant   int               // in Scenario.Tenants
	fails    bool              // for a reason other than load
	attempt  int               // 0 for the first one
	lower    throttle.Priority // of the attempt: so much lower than that of the call
	run      *retry.Run        // of the rule budget, once the first attempt has ended
}

// sentAs returns the priority of the attempt.
func (o *offer) sentAs() throttle.Priority { return min(o.priority+o.lower, throttle.Low) }

// newTraffic returns the traffic of a phase. The load of a phase is in multiples of capacity.
func newTraffic(random *rand.Rand, clients int, p *Phase, capacity float64) traffic {
	if p.Active > 0 {
		clients = max(1, int(p.Active*float64(clients)))
	}
	t := traffic{random: random, clients: clients, failing: failingShares(p), healthy: true}
	total := 0.0
	for i, load := range p.Load {
		total += load
		t.upTo[i] = total
		t.healthy = t.healthy && t.failing[i] == 0
	}
	if total > 0 {
		t.gap = float64(time.Second) / (total * capacity)
	}
	for i := range t.upTo {
		t.upTo[i] /= total
	}
	return t
}

// failingShares returns the share of the calls that the backend rejects for reasons other than
// load.
func failingShares(p *Phase) Tiers {
	var all Tiers
	for i, failing := range p.Failing {
		all[i] = 1 - (1-p.Errors)*(1-failing)
	}
	return all
}

// next returns the random time until the next call, and whether that is before the end of the
// phase.
func (t *traffic) next(left time.Duration) (time.Duration, bool) {
	if t.gap == 0 {
		return 0, false
	}
	wait := t.random.ExpFloat64() * t.gap
	return time.Duration(min(wait, float64(left))), wait < float64(left)
}

func (t *traffic) call() offer {
	o := offer{}
	for mix := t.random.Float64(); o.priority < throttle.Low && mix >= t.upTo[o.priority]; {
		o.priority++
	}
	o.client = t.client()
	o.tenant = t.tenants.pick()
	o.fails = !t.healthy && t.random.Float64() < t.failing[o.priority]
	return o
}

// client returns a random client. If the rates are unequal, the client at share x of the list has a
// rate of 100^x.
func (t *traffic) client() int {
	if !t.unequal {
		return t.random.IntN(t.clients)
	}
	const ratio = 100
	x := math.Log1p((ratio-1)*t.random.Float64()) / math.Log(ratio)
	return min(int(x*float64(t.clients)), t.clients-1)
}

// newRand returns a generator of random numbers for one purpose in one case. Its seed does not
// depend on the policy, so that all policies get the same calls. The seeds are hashed, so that the
// numbers of seeds 1 and 2 are not related.
func newRand(seed uint64, scenario, caseName, purpose string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", seed, scenario, caseName, purpose))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
}
