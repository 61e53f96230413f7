package throttle

import (
	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The flags of a packed decision.
const (
	causedAbove     = 1 << iota // CauseAbove
	onlyShadow                  // ModeShadow: call the hooks, and let the call through
	causedLimit                 // CauseLimit, of a call that the gate refuses
	causedProcessor             // CauseProcessor
	causedTold                  // CauseTold
	aboveShare                  // the tenant takes more than its share
)

func (t *Throttle) computeDecisions(r window.Reading, decisions []decision.Packed) {
	tuning := t.tuning.Load()
	t.updateReceived(r.Ever, tuning.Mode)
	if t.monitor != nil {
		t.observe(r, tuning)
	}
	if tuning.Mode == ModeOff {
		clear(decisions)
		return
	}
	var estimates [MaxPriorities]estimate
	t.estimate(r, tuning, t.stance.Load(), estimates[:t.priorities])
	t.notePolicyShare(r.Span, estimates[:t.priorities])
	t.obey(estimates[:t.priorities], 0)
	for p, e := range estimates[:t.priorities] {
		var flags uint64
		if tuning.Mode == ModeShadow {
			flags |= onlyShadow
		}
		switch e.cause {
		case CauseAbove:
			flags |= causedAbove
		case CauseTold:
			flags |= causedTold
		}
		decisions[p] = decision.Pack(e.probability, flags)
	}
}

// observe updates the monitor and publishes its stance. In ModeOff the monitor forgets everything,
// because nothing is shed by which it could judge.
func (t *Throttle) observe(r window.Reading, u *Tuning) {
	o := observation{span: window.Sum(r.Span), ever: window.Sum(r.Ever), recent: r.Recent, totals: r.Ever}
	if u.Mode == ModeOff {
		o.span = window.Counts{}
	}
	now := t.bucketAt()
	if t.monitor.isHealthy(now, &o, u.Background) {
		return
	}
	o.ratio, o.padding = u.Ratio, u.padding(t.span)
	if h := t.received.Load(); h != nil {
		o.said = h.Summary(now)
	}
	before := t.stance.Load()
	if !t.monitor.update(now, &o, u.Background) {
		return
	}
	after := t.monitor.stance
	t.stance.Store(&after)
	if t.hooks.PolicyChanged != nil && before.inAlert() != after.inAlert() {
		t.policyChange.Store(&PolicyEvent{Throttle: t, Before: t.stateOf(before), After: t.stateOf(&after)})
	}
}
