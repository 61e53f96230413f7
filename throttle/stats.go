package throttle

import "time"

// Stats is the state of a throttle at one instant.
type Stats struct {
	Name            string
	Policy          Policy
	Mode            Mode
	CodeMode        Mode // without an Override
	Ratio           float64
	MinimumRate     float64
	TargetRejection float64 // of Tiered; 0 for SRE
	Window          time.Duration
	State           PolicyState // of Tiered
	Slow            SlowStats
	Received        ReceivedStats   // from the backend's load reports
	SendsLoad       bool            // Throttle.LoadReport was called
	Load            LoadReport      // what it returns, if SendsLoad is true
	ProcessorWait   time.Duration   // Config.ProcessorWait in force; 0 if it is off, or for calls to other processes only
	Exempt          uint64          // calls of Throttle.Exempt: served without a decision
	Priorities      []PriorityStats // indexed by priority
}

// WindowStats is what the window holds for one priority.
type WindowStats struct {
	// Accepted is the number of calls that the backend has accepted.
	Accepted uint64
	// Rejected is the number of calls that count as rejected: those that the backend has rejected, late
	// calls ([SlowTotals].Booked), and calls that Config.SlowGate has refused, which
	// [PriorityStats].Shed has with CauseLimit.
	Rejected uint64
	// Shed is the number of calls that the policy has shed: with CauseOwn or CauseAbove. In ModeShadow, it
	// is the number of calls that the policy would have shed.
	Shed uint64
}

// Requests returns the number of calls from which the policy computes the probability: the sum of all
// fields.
func (w WindowStats) Requests() uint64 { return w.Accepted + w.Rejected + w.Shed }

// PriorityStats is the state of one priority. Totals count since [New] and never decrease.
type PriorityStats struct {
	Priority    Priority
	Probability float64 // of shedding the next call
	Cause       Cause   // of the probability, if it is not 0
	Told        float64 // the part of the probability that the backend's load reports ask for
	Window      WindowStats
	Admitted    uint64       // calls admitted, including those in flight
	InFlight    int64        // admitted calls that have not ended
	Ended       Totals       // admitted calls with a recorded outcome, without those in ShadowShed
	Overloaded  uint64       // rejections of a backend that is full: see MarkOverloaded; also calls booked as late or refused by SlowGate
	Shed        CauseTotals  // calls shed; with CauseLimit those that Config.SlowGate has refused
	ShadowShed  ShadowTotals // calls that ModeEnforce would have shed
	Fallbacks   Totals       // by outcome of the call and fault of the fallback
	Slow        SlowTotals   // calls that were late
	Clamped     uint64       // calls with a priority out of range that got this one
	Tenants     TenantStats  // of the calls with a tenant: see WithTenant
	_           struct{}     // keyed literals only
}

// Merge adds a priority of another throttle: the totals, and the present state only if that throttle is open. The probability with
// its cause, the part that load reports ask for and the shares of tenants become the higher ones, the limit of Slow the lower one.
// Priority stays.
func (s *PriorityStats) Merge(other *PriorityStats, open bool) {
	s.Admitted += other.Admitted
	s.Ended.Merge(other.Ended)
	s.Overloaded += other.Overloaded
	s.Shed.Merge(other.Shed)
	s.ShadowShed.Merge(other.ShadowShed)
	s.Fallbacks.Merge(other.Fallbacks)
	s.Slow.Late += other.Slow.Late
	s.Slow.Booked += other.Slow.Booked
	s.Slow.WrittenOff += other.Slow.WrittenOff
	s.Slow.WouldRefuse += other.Slow.WouldRefuse
	s.Clamped += other.Clamped
	s.Tenants.Known = s.Tenants.Known || other.Tenants.Known
	s.Tenants.Shed += other.Tenants.Shed
	if open {
		s.mergeState(other)
	}
}

func (s *PriorityStats) mergeState(other *PriorityStats) {
	if other.Probability > s.Probability {
		s.Probability, s.Cause = other.Probability, other.Cause
	}
	s.Told = max(s.Told, other.Told)
	s.Window.Accepted += other.Window.Accepted
	s.Window.Rejected += other.Window.Rejected
	s.Window.Shed += other.Window.Shed
	s.InFlight += other.InFlight
	if limit := other.Slow.Limit; limit > 0 && (s.Slow.Limit == 0 || limit < s.Slow.Limit) {
		s.Slow.Limit = limit
	}
	s.Tenants.Above = max(s.Tenants.Above, other.Tenants.Above)
	s.Tenants.Largest = max(s.Tenants.Largest, other.Tenants.Largest)
}

// TenantStats says how the tenants of [WithTenant] share one priority. It is zero before the first call of a
// tenant that was to be shed. Shed is a total, the others are of the last 30 s in which calls might have been shed.
type TenantStats struct {
	Known   bool    // a call of a tenant was to be shed, in any priority
	Above   int     // tenants that take more than their fair share
	Largest float64 // share of the calls that the largest tenant has asked for
	Shed    uint64  // calls shed of tenants that took more than their fair share, with any cause
}

// SlowStats is the state of what [Config.Slow] does, set or learned. It is zero if it is off.
type SlowStats struct {
	Slow       time.Duration // Config.Slow, or what was learned
	Gate       Mode          // Config.SlowGate
	Auto       bool          // it is learned: see Config.SlowAuto
	Learned    time.Duration // the Slow that was learned, or 0 before
	Full       bool          // if it is learned: late calls were found to wait in a queue of the backend
	Closed     bool          // a priority has a Limit
	Open       int64         // calls without an answer that were not written off
	WrittenOff int64         // calls without an answer that were
	Oldest     time.Duration // for how long the oldest call has had no answer; at most an eighth of Slow too long, or 2 % if it is late
}

// SlowTotals counts what Config.Slow did with the calls of one priority. Limit is a state.
type SlowTotals struct {
	Late        uint64 // calls without an answer for longer than Slow
	Booked      uint64 // rejections that the window counted for late calls
	WrittenOff  uint64 // calls without an answer for 10 s, or for 20 times Slow if that is more
	WouldRefuse uint64 // calls that ModeEnforce of SlowGate would have refused
	Limit       int64  // open calls of this priority and of those above it at which a call is refused now, or 0 if there is no limit
}

// Stats returns the current state of the throttle. Calls continue meanwhile, so totals may differ
// from each other by the calls that are ending. Each total never decreases; the probability, the
// window and the calls in flight may.
func (t *Throttle) Stats() Stats {
	if !t.valid() {
		return Stats{}
	}
	w, now := t.look()
	received, toldShares := t.receivedStats()
	sums, stance, estimates := t.snapshot()
	state := t.tuning.State()
	tuning := &state.Now
	s := Stats{
		Name: t.name, Policy: t.policy, Mode: tuning.Mode, CodeMode: state.Code.Mode, Ratio: tuning.Ratio, MinimumRate: tuning.MinimumRate,
		TargetRejection: t.target, Window: t.span, State: t.stateOf(stance), Priorities: make([]PriorityStats, t.priorities),
	}
	s.Exempt, s.Received = t.exempt.Load(), received
	if s.SendsLoad = t.tells.Load(); s.SendsLoad {
		_ = t.fillLoadReport(&s.Load)
	}
	if t.serves.Load() && tuning.Mode != ModeOff {
		s.ProcessorWait = tuning.processorWait()
	}
	if w != nil {
		s.Slow = w.state(now, tuning.SlowGate)
	}
	for p := range s.Priorities {
		ps := &s.Priorities[p]
		ps.Priority = Priority(p)
		ps.Probability, ps.Cause = estimates[p].probability, estimates[p].cause
		ps.Told = toldShares[p]
		ps.Window = WindowStats{Accepted: sums[p].Accepted, Rejected: sums[p].Rejected, Shed: sums[p].Shed}
		t.fill(ps)
		t.fillSlow(ps, w)
	}
	t.fillTenants(s.Priorities)
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
		for cause := range ps.ShadowShed.calls {
			t.counters[i].addTo(&ps.ShadowShed.calls[cause], shadows+table(cause), p)
		}
		ps.Shed.calls[CauseProcessor] += t.counters[i].first(localSheds, p)
		ps.Shed.calls[CauseTold] += t.counters[i].first(toldSheds, p)
		ps.Clamped += t.counters[i].first(clamps, p)
		ps.Tenants.Shed += t.counters[i].first(tenantSheds, p)
		t.counters[i].addTo(&ps.Fallbacks, fallbacks, p)
	}
	ps.Ended.calls[Accepted][FaultNone] = t.window.Total(int(p), served)
	ps.Shed.calls[CauseOwn] = t.window.Total(int(p), shedOwn)
	ps.Shed.calls[CauseAbove] = t.window.Total(int(p), shedAbove)
	ps.Overloaded = t.window.Total(int(p), saidFull)
	ended := ps.Ended.Sum() + ps.ShadowShed.Sum()
	ps.Admitted = t.window.Total(int(p), started)
	ps.InFlight = int64(ps.Admitted - ended + answered)
}

func (t *Throttle) fillSlow(ps *PriorityStats, w *watch) {
	p := ps.Priority
	if totals := t.slowTotals.Load(); totals != nil {
		ps.Shed.calls[CauseLimit] = totals.refused[p].Load()
		ps.Slow = SlowTotals{
			Late: totals.late[p].Load(), Booked: totals.booked[p].Load(),
			WrittenOff: totals.lost[p].Load(), WouldRefuse: totals.wouldRefuse[p].Load(),
		}
	}
	if w != nil && t.tuning.Load().SlowGate != ModeOff {
		ps.Slow.Limit = w.gate.limit(p)
	}
}
