package breaker

import (
	"fmt"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The columns of the tally that calls are counted in.
const (
	admitted   = window.Accepted
	shed       = window.Shed
	shadowShed = window.Shed + 1
)

// books is what a manager counts beside calls.
type books struct {
	changes  [NumStates]atomic.Uint64
	failures [NumFailures]atomic.Uint64
	probes   atomic.Uint64
	late     atomic.Uint64
	notified atomic.Uint64
}

// count counts one call.
func (m *Manager) count(s State, column int) {
	m.tally.Row(m.tally.Pick(), int(s))[column].Add(1)
}

// fail counts something that went wrong, and tells of it.
func (m *Manager) fail(f Failure, err error) {
	m.books.failures[f].Add(1)
	if h := m.config.Hooks.Failed; h != nil {
		m.tell(func() { h(FailureEvent{Manager: m, Failure: f, Err: err}) })
	}
}

// tell calls a hook that is not of a call, on whatever goroutine this is: the work under way must survive it.
func (m *Manager) tell(hook func()) {
	err := m.guarded(func() error { hook(); return nil })
	if err == nil {
		return
	}
	m.books.failures[HookPanicked].Add(1)
	if h := m.config.Hooks.Failed; h != nil {
		_ = m.guarded(func() error {
			h(FailureEvent{Manager: m, Failure: HookPanicked, Err: fmt.Errorf("breaker: hook: %w", err)})
			return nil
		})
	}
}

// Stats returns what the manager has done and what it knows.
func (m *Manager) Stats() Stats {
	if !m.made() {
		return Stats{}
	}
	s := Stats{
		Name: m.config.Name, SnapshotAge: m.snapshotAge(), Stale: m.clock.Load().stale, Running: m.running.Load(), Leads: m.leading.Load(),
		Probes: m.books.probes.Load(), LateResults: m.books.late.Load(), Notified: m.books.notified.Load(),
		DryRun: m.config.DryRun, OnStale: m.config.OnStale, MaxStale: m.config.MaxStale, SampleRate: m.config.SampleRate,
		Circuits: m.table.Load().circuits(),
	}
	if c := m.config.Counter; c != nil {
		s.Dropped = c.Dropped()
	}
	if l := m.lease.Load(); l != nil {
		s.Leader, s.Term = l.Owner, l.Term
	}
	for state := range s.Calls {
		s.Calls[state] = CallStats{
			Admitted:   m.tally.Total(state, admitted),
			Shed:       m.tally.Total(state, shed),
			ShadowShed: m.tally.Total(state, shadowShed),
		}
		s.Changes[state] = m.books.changes[state].Load()
	}
	for f := range s.Failures {
		s.Failures[f] = m.books.failures[f].Load()
	}
	return s
}
