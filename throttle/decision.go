package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The flags of a packed decision.
const (
	causedAbove = 1 << iota // CauseAbove
	onlyShadow              // ModeShadow: call the hooks, and let the call through
)

// computeDecisions computes the packed decision of each priority.
func (t *Throttle) computeDecisions(r window.Reading, decisions []decision.Packed) {
	tuning := t.tuning.Load()
	if tuning.Mode == ModeOff {
		clear(decisions)
		return
	}
	var estimates [MaxPriorities]estimate
	t.estimate(r, tuning, estimates[:t.priorities])
	for p, e := range estimates[:t.priorities] {
		var flags uint64
		if tuning.Mode == ModeShadow {
			flags |= onlyShadow
		}
		if e.cause == CauseAbove {
			flags |= causedAbove
		}
		decisions[p] = decision.Pack(e.probability, flags)
	}
}

// causeOf returns the cause in a packed decision.
func causeOf(d decision.Packed) Cause {
	if d.Has(causedAbove) {
		return CauseAbove
	}
	return CauseOwn
}
