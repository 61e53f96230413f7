package breaker

import (
	"context"
	"time"
)

// CanExecute reports whether a call may be made: it returns nil or a *[ShedError]. It never waits
// for the store. For a half-open circuit, nil permits one probe. CanExecute does not record how the
// call ends: that is left to Config.Poll. Use [Manager.Circuit] to make calls and record their
// results.
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

// decide decides about a call to a known circuit, and returns the circuit's state.
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

// evaluate returns the circuit's state, and an error if it sheds the call.
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
