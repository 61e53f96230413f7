package breaker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/remote"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Stats is a snapshot of a manager: counters since [New], and its present state.
type Stats struct {
	Name    string
	Calls   [numStates]CallStats // by the state of their circuit
	Changes [numStates]uint64    // changes of circuits to each state that this manager made
	// Circuits is the number of circuits in each state, as this manager sees them. A closed circuit
	// is counted only if it has a past, such as trips.
	Circuits    [numStates]int
	Errors      ErrorCounts // errors of background tasks
	Probes      uint64      // probes granted to this manager
	LateResults uint64      // results not counted, because the circuit changed during the call
	Dropped     uint64      // results that the counter dropped: see [Counter.Dropped]
	// SnapshotAge is the time since the store was read, -1 if it never was. It is 0 for a manager
	// that works without Run.
	SnapshotAge time.Duration
	Stale       bool // SnapshotAge is more than Config.MaxStale: Config.OnStale applies
	Running     bool // [Manager.Run] is active
	// NotRunning means that Run is needed but not active: the store is shared, so this manager
	// neither reads what others decide nor decides itself. A manager on a [MemoryStore] works
	// without Run. [Manager.Sample] makes one round and does not change this field.
	NotRunning bool
	Leads      bool          // this manager is the leader; without Run, from its first round
	Term       uint64        // of the last known lease
	Leader     string        // owner of the last known lease
	Mode       throttle.Mode // in force; Config.ForTenant may set another one
	OnStale    StalePolicy
}

// CallStats counts calls.
type CallStats struct {
	Admitted   uint64 // ShadowShed included
	Shed       uint64
	ShadowShed uint64 // admitted by ModeShadow; ModeEnforce would have shed them
}

// ErrorCounts counts the errors of background tasks by kind. The zero value counts none. Its JSON is an object with a
// number per kind.
type ErrorCounts struct {
	counts [numFailures]uint64
}

// Of returns the number of errors of one kind.
func (c ErrorCounts) Of(f Failure) uint64 {
	if f >= numFailures {
		return 0
	}
	return c.counts[f]
}

// All returns an iterator over every kind and its number of errors, which may be 0.
func (c ErrorCounts) All() iter.Seq2[Failure, uint64] {
	return func(yield func(Failure, uint64) bool) {
		for f, n := range c.counts {
			if !yield(Failure(f), n) {
				return
			}
		}
	}
}

// Plus returns the sum of both counts, kind by kind.
func (c ErrorCounts) Plus(other ErrorCounts) ErrorCounts {
	for f, n := range other.counts {
		c.counts[f] += n
	}
	return c
}

// MarshalJSON returns an object with a number per kind.
func (c ErrorCounts) MarshalJSON() ([]byte, error) { return json.Marshal(maps.Collect(c.All())) }

// Status is the state of one circuit, as a manager has read it.
type Status struct {
	Key    Key
	State  State
	Reason Reason // of the last change
	Forced bool   // set by hand: calls do not change the state
	Trips  int    // consecutive
	// Generation increases with every change except from open to half-open. It begins again at 1 if the record of the circuit
	// was removed: closed for an ObservabilityWindow, without trips, it is as one that never opened.
	Generation uint64
	ChangedAt  time.Time     // by the store's clock
	RetryAfter time.Duration // until an open circuit is half-open
	Failures   float64       // calls that were polled at the last change
	Successes  float64
	Shadow     bool // ModeShadow: the circuit blocks no calls
}

// Columns of the window in which calls are counted.
const (
	admitted   = window.Accepted
	shed       = window.Shed
	shadowShed = window.Shed + 1
)

// counters are the counters of a manager except those of calls.
type counters struct {
	changes [numStates]atomic.Uint64
	errors  [numFailures]atomic.Uint64
	probes  atomic.Uint64
	late    atomic.Uint64
}

func (m *Manager) count(s State, column int) {
	m.tally.Row(m.tally.Pick(), int(s))[column].Add(1)
}

func (m *Manager) fail(f Failure, err error) {
	m.counters.errors[f].Add(1)
	if h := m.config.Hooks.Failed; h != nil {
		m.callHook(func() { h(FailureEvent{Manager: m, Failure: f, Err: err}) })
	}
}

// callHook calls a hook of a background task. A panic, or the end of its goroutine, is reported to Hooks.Failed and does not
// end the task.
func (m *Manager) callHook(hook func()) {
	err := recovered(hook)
	if err == nil {
		return
	}
	m.counters.errors[HookPanicked].Add(1)
	if h := m.config.Hooks.Failed; h != nil {
		_ = recovered(func() { h(FailureEvent{Manager: m, Failure: HookPanicked, Err: fmt.Errorf("breaker: hook: %w", err)}) })
	}
}

// recovered calls f on another goroutine, which f may end, and waits. It returns a panic as an error.
func recovered(f func()) error {
	_, err := remote.Await(context.Background(), func(context.Context) (struct{}, error) { f(); return struct{}{}, nil }, nil)
	return err
}

// Stats returns the manager's counters and present state.
func (m *Manager) Stats() Stats {
	if !m.valid() {
		return Stats{}
	}
	read, now := m.lastRead.Load(), time.Now()
	s := Stats{
		Name: m.config.Name, SnapshotAge: -1, Stale: read.stale, Running: m.running.Load(), Leads: m.leading.Load(),
		Probes: m.counters.probes.Load(), LateResults: m.counters.late.Load(), Mode: m.tuning.Load().Mode, OnStale: m.config.OnStale,
	}
	s.NotRunning = m.memory == nil && !s.Running
	if c := m.config.Counter; c != nil {
		s.Dropped = c.Dropped()
	}
	if l := m.lease.Load(); l != nil {
		s.Leader, s.Term = l.Owner, l.Term
	}
	if !read.local.IsZero() {
		s.SnapshotAge = now.Sub(read.local)
	}
	if m.lazy.last.Load() > 0 && m.makesLazyRounds() {
		s.SnapshotAge, s.Leads = 0, s.Leader == m.owner
	}
	for _, e := range m.table.Load().entries {
		if !e.forgotten() {
			s.Circuits[e.stateAt(now)]++
		}
	}
	for state := range s.Calls {
		dryRun := m.tally.Total(state, shadowShed)
		s.Calls[state] = CallStats{Admitted: m.tally.Total(state, admitted) + dryRun, Shed: m.tally.Total(state, shed), ShadowShed: dryRun}
		s.Changes[state] = m.counters.changes[state].Load()
	}
	for f := range s.Errors.counts {
		s.Errors.counts[f] = m.counters.errors[f].Load()
	}
	return s
}
