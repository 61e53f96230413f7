package breaker

import (
	"context"
	"errors"
	"sync/atomic"
)

// Circuit is a handle on one circuit. Keep it where the same circuit is used again and again: it knows what the manager's newest table
// says, without looking. All methods are safe for concurrent use.
type Circuit struct {
	manager *Manager
	key     Key
	seen    atomic.Pointer[view]
	counts  atomic.Pointer[slot] // of the manager's counter
}

// Circuit returns a handle on the circuit of a key. It costs nothing to make and holds nothing in the manager.
func (m *Manager) Circuit(k Key) *Circuit {
	return &Circuit{manager: m, key: k}
}

// Key returns the circuit's key.
func (c *Circuit) Key() Key { return c.key }

// view returns what the newest table says.
func (c *Circuit) view() *view {
	if v := c.seen.Load(); v != nil && v.table == c.manager.table.Load() {
		return v
	}
	v := c.manager.look(c.key)
	c.seen.Store(v)
	return v
}

// CanExecute is [Manager.CanExecute] for this circuit.
func (c *Circuit) CanExecute(ctx context.Context) error {
	v := c.view()
	if v.entry == nil {
		c.manager.count(Closed, admitted)
		return nil
	}
	_, err := c.manager.decide(ctx, c.key, v.entry)
	return err
}

// Run makes a call through the circuit, and tells the manager's counter how it ended: as Config.Classify says. It returns a
// *[RefusedError] if the circuit refuses, and then does not call fn; else what fn returns. If fn panics, the panic goes on up, and says
// nothing about the endpoint.
func (c *Circuit) Run(ctx context.Context, fn func(context.Context) error) error {
	if fn == nil {
		return errors.New("breaker: the function to run is nil")
	}
	_, generation, err := c.admit(ctx)
	if err != nil {
		return err
	}
	err = fn(ctx)
	if m := c.manager; m.config.Counter != nil {
		if failed, counts := m.result(ctx, c.view(), generation, err); counts {
			m.config.Counter.addTo(c.slot(), failed)
		}
	}
	return err
}

// Acquire asks leave for a call that the caller makes himself. It returns a permit, whose end should be told by [Permit.Done], or a
// *[RefusedError].
func (c *Circuit) Acquire(ctx context.Context) (Permit, error) {
	state, generation, err := c.admit(ctx)
	if err != nil {
		return Permit{}, err
	}
	t := c.manager.tickets.Get().(*ticket)
	t.manager, t.key, t.ctx, t.generation = c.manager, c.key, ctx, generation
	return Permit{ticket: t, round: t.round.Load(), state: state}, nil
}

// admit decides about a call, and returns the state and the generation that the circuit is in.
func (c *Circuit) admit(ctx context.Context) (State, uint64, error) {
	e := c.view().entry
	if e == nil {
		c.manager.count(Closed, admitted)
		return Closed, 0, nil
	}
	state, err := c.manager.decide(ctx, c.key, e)
	return state, e.generation, err
}

// slot returns where the circuit's results are counted.
func (c *Circuit) slot() *slot {
	if s := c.counts.Load(); s != nil && !s.gone.Load() {
		return s
	}
	s := c.manager.config.Counter.slot(c.key)
	c.counts.Store(s)
	return s
}
