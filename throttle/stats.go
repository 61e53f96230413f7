package throttle

import "time"

// Stats is the state of a throttle at one instant.
type Stats struct {
	Name            string
	Policy          Policy
	Mode            Mode
	Ratio           float64
	MinimumRate     float64
	TargetRejection float64 // of Tiered; 0 for SRE
	Window          time.Duration
	Priorities      []PriorityStats // indexed by priority
}

// WindowStats is what the window holds for one priority.
type WindowStats struct {
	Accepted uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // by the throttle; in ModeShadow, calls that it would have shed
}

// Requests returns the number of calls in the window: those that ended and those that were shed.
func (w WindowStats) Requests() uint64 { return w.Accepted + w.Rejected + w.Shed }

// PriorityStats is the state of one priority. Totals count since [New] and never decrease.
type PriorityStats struct {
	Priority    Priority
	Probability float64 // of shedding the next call
	Cause       Cause   // of the probability, if it is not 0
	Window      WindowStats
	Admitted    uint64       // calls admitted, including those in flight
	InFlight    int64        // admitted calls that have not ended
	Ended       Totals       // admitted calls with a recorded outcome, without those in ShadowShed
	Shed        CauseTotals  // calls shed
	ShadowShed  ShadowTotals // calls that ModeEnforce would have shed
	Fallbacks   Totals       // by outcome of the call and fault of the fallback
	Clamped     uint64       // calls with a priority out of range that got this one
	_           struct{}     // keyed literals only
}

// Stats returns the current state of the throttle. Calls continue meanwhile, so totals may differ
// from each other by the calls that are ending. Each total never decreases; the probability, the
// window and the calls in flight may.
func (t *Throttle) Stats() Stats {
	if !t.valid() {
		return Stats{}
	}
	sums, estimates := t.snapshot()
	tuning := t.tuning.Load()
	s := Stats{
		Name: t.name, Policy: t.policy, Mode: tuning.Mode, Ratio: tuning.Ratio, MinimumRate: tuning.MinimumRate,
		TargetRejection: t.target, Window: t.span, Priorities: make([]PriorityStats, t.priorities),
	}
	for p := range s.Priorities {
		ps := &s.Priorities[p]
		ps.Priority = Priority(p)
		ps.Probability, ps.Cause = estimates[p].probability, estimates[p].cause
		ps.Window = WindowStats{Accepted: sums[p].Accepted, Rejected: sums[p].Rejected, Shed: sums[p].Shed}
		t.fill(ps)
	}
	return s
}

// fill adds up the totals of one priority. It reads ended calls before started ones, so that no
// call seems to end before it begins.
func (t *Throttle) fill(ps *PriorityStats) {
	p := ps.Priority
	var answered uint64 // calls in flight whose outcome is recorded
	for i := range t.counters {
		begun, ended := t.counters[i].answered(p)
		answered += begun - ended
	}
	for i := range t.counters {
		t.counters[i].addTo(&ps.Ended, failures, p)
		t.counters[i].addTo(&ps.ShadowShed.calls[CauseOwn], shadowsOwn, p)
		t.counters[i].addTo(&ps.ShadowShed.calls[CauseAbove], shadowsAbove, p)
		t.counters[i].addTo(&ps.Fallbacks, fallbacks, p)
	}
	ps.Ended.calls[Accepted][FaultNone] = t.window.Total(int(p), served)
	ps.Shed.calls[CauseOwn] = t.window.Total(int(p), shedOwn)
	ps.Shed.calls[CauseAbove] = t.window.Total(int(p), shedAbove)
	ps.Clamped = t.window.Total(int(p), clamped)
	ended := ps.Ended.Sum() + ps.ShadowShed.Sum()
	ps.Admitted = t.window.Total(int(p), started)
	ps.InFlight = int64(ps.Admitted - ended + answered)
}
