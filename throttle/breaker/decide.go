package breaker

import (
	"context"
	"time"
)

// CanExecute reports whether a call may be made: nil, or a *[ShedError]. It waits for nothing, and a store that is slow or gone changes
// nothing about it. Nil for a half-open circuit is leave for one probe. How the call ends is left to the poll to find out; see
// [Manager.Circuit] for calls whose end is told.
func (m *Manager) CanExecute(ctx context.Context, k Key) error {
	if !m.valid() {
		return errNil
	}
	v := m.lookup(k)
	if v.entry == nil {
		m.count(Closed, admitted)
		m.wantRound()
		return nil
	}
	_, err := m.decide(ctx, k, v.entry)
	return err
}

// decide decides about a call to a circuit of which something is known, and returns the state that it is in.
func (m *Manager) decide(ctx context.Context, k Key, e *entry) (State, error) {
	m.wantRound()
	state, refusal := m.evaluate(k, e)
	if refusal == nil {
		m.count(state, admitted)
		return state, nil
	}
	column := shed
	if e.shadow {
		column = shadowShed
	}
	m.count(state, column)
	if h := m.config.Hooks.Shed; h != nil {
		h(orBackground(ctx), ShedEvent{Manager: m, Key: k, State: state, Shadow: e.shadow})
	}
	if e.shadow {
		return state, nil
	}
	return state, refusal
}

// judge says whether the circuit lets a call through.
func (m *Manager) evaluate(k Key, e *entry) (State, *ShedError) {
	switch {
	case e.shedErr == nil:
		return Closed, &ShedError{Breaker: m.config.Name, Key: k, State: Closed, Reason: ErrStale}
	case e.state == Closed:
		return Closed, nil
	case e.state == Disabled, e.forced:
		return e.state, e.shedErr
	}
	now := time.Now()
	if e.state == Open && now.Before(e.until) {
		e.probes.demanded.Store(true)
		return Open, e.shedErr
	}
	if e.unlimited || e.probes.take(now) {
		return HalfOpen, nil
	}
	e.probes.demanded.Store(true)
	if !m.makesLazyRounds() {
		m.requestProbe(e)
	} else if m.probeNow(e, now) {
		return HalfOpen, nil
	}
	return HalfOpen, e.noProbeErr
}
