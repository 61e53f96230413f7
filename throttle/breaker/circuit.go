package breaker

import (
	"context"
	"sync/atomic"
)

// Circuit is a handle on one circuit. Keep it where the same circuit is used again and again: it knows what the manager's newest table
// says, without looking. All methods are safe for concurrent use.
type Circuit struct {
	manager *Manager
	key     Key
	seen    atomic.Pointer[view]
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
	permit, err := c.Acquire(ctx)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			permit.Ignore()
		}
	}()
	err = fn(ctx)
	ended = true
	permit.Done(err)
	return err
}

// Acquire asks leave for a call that the caller makes himself. It returns a permit, whose end should be told by [Permit.Done], or a
// *[RefusedError].
func (c *Circuit) Acquire(ctx context.Context) (Permit, error) {
	m := c.manager
	v := c.view()
	state, generation := Closed, uint64(0)
	if e := v.entry; e != nil {
		var err error
		if state, err = m.decide(ctx, c.key, e); err != nil {
			return Permit{}, err
		}
		generation = e.generation
	} else {
		m.count(Closed, admitted)
	}
	t := m.tickets.Get().(*ticket)
	t.manager, t.key, t.ctx, t.state, t.generation = m, c.key, ctx, state, generation
	return Permit{ticket: t, round: t.round.Load()}, nil
}
