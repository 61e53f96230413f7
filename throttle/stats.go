package throttle

import "time"

// Stats is what a throttle knows of itself at one instant.
type Stats struct {
	Name            string
	Policy          Policy
	Mode            Mode
	Ratio           float64
	MinimumRate     float64
	TargetRejection float64 // what Tiered aims at; 0 for SRE
	Window          time.Duration
	Priorities      []PriorityStats // by priority
}

// WindowStats is what the window holds of one priority.
type WindowStats struct {
	Accepted uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // by the throttle; in Shadow, what it would have shed
}

// Requests returns the number of calls that the window holds: those that ended, and those that were shed.
func (w WindowStats) Requests() uint64 { return w.Accepted + w.Rejected + w.Shed }

// PriorityStats is what a throttle knows of one priority. Totals are since [New] and never fall.
type PriorityStats struct {
	Priority    Priority
	Probability float64 // of shedding the next call
	Cause       Cause   // of the probability, while there is one
	Window      WindowStats
	Admitted    uint64       // calls admitted, those in flight included
	InFlight    int64        // admitted and not ended yet
	Ended       Totals       // calls whose outcome is known, most of which have ended; Shadow's would-be sheds excluded
	Shed        CauseTotals  // calls refused
	ShadowShed  ShadowTotals // calls that Enforce would have refused, by how they ended
	Fallbacks   Totals       // fallbacks, by the call's outcome and the fallback's own fault
	Clamped     uint64       // calls that asked for a priority out of range and were given this one
	_           struct{}     // keyed literals only
}

// Stats returns what the throttle knows of itself now. Calls go on meanwhile, so numbers may differ by
// those that are just ending. Each total by itself never falls; the probability, the window and the calls in flight do.
func (t *Throttle) Stats() Stats {
	if !t.made() {
		return Stats{}
	}
	sums, verdicts := t.judge()
	tuning := t.tuning.Load()
	s := Stats{
		Name: t.name, Policy: t.policy, Mode: tuning.Mode, Ratio: tuning.Ratio, MinimumRate: tuning.MinimumRate,
		TargetRejection: t.target, Window: t.span, Priorities: make([]PriorityStats, t.priorities),
	}
	for p := range s.Priorities {
		ps := &s.Priorities[p]
		ps.Priority = Priority(p)
		ps.Probability, ps.Cause = verdicts[p].probability, verdicts[p].cause
		ps.Window = WindowStats{Accepted: sums[p].Accepted, Rejected: sums[p].Rejected, Shed: sums[p].Shed}
		t.fill(ps)
	}
	return s
}

// fill adds up the totals of one priority. What has ended is read before what has started, so that no call seems to end
// that has not begun.
func (t *Throttle) fill(ps *PriorityStats) {
	p := ps.Priority
	var overrun uint64 // calls whose outcome is known, and that go on
	for i := range t.ledgers {
		begun, ended := t.ledgers[i].overrunning(p)
		overrun += begun - ended
	}
	for i := range t.ledgers {
		t.ledgers[i].addTo(&ps.Ended, failures, p)
		t.ledgers[i].addTo(&ps.ShadowShed.calls[CauseOwn], shadowsOwn, p)
		t.ledgers[i].addTo(&ps.ShadowShed.calls[CauseAbove], shadowsAbove, p)
		t.ledgers[i].addTo(&ps.Fallbacks, fallbacks, p)
	}
	ps.Ended.calls[Accepted][FaultNone] = t.window.Total(int(p), served)
	ps.Shed.calls[CauseOwn] = t.window.Total(int(p), shedOwn)
	ps.Shed.calls[CauseAbove] = t.window.Total(int(p), shedAbove)
	ps.Clamped = t.window.Total(int(p), clamped)
	ended := ps.Ended.Sum() + ps.ShadowShed.Sum()
	ps.Admitted = t.window.Total(int(p), started)
	ps.InFlight = int64(ps.Admitted - ended + overrun)
}
