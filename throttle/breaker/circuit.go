package breaker

import (
	"context"
	"sync/atomic"
)

// Circuit is a handle on one circuit. Keep it if the same circuit is used often: it caches the
// circuit's state, so that a call needs no lookup. All methods are safe for concurrent use. A nil
// context means context.Background. Calls through a nil Circuit, or through a circuit of a nil
// Manager, return an error.
type Circuit struct {
	manager    *Manager
	key        Key
	cachedView atomic.Pointer[view]
	cachedSlot atomic.Pointer[slot] // of Config.Counter
}

// Circuit returns a handle on the circuit of a key. It allocates nothing in the manager.
func (m *Manager) Circuit(k Key) *Circuit {
	return &Circuit{manager: m, key: k}
}

// valid reports whether c is a circuit of a manager that came from New.
func (c *Circuit) valid() bool { return c != nil && c.manager.valid() }

// Key returns the circuit's key.
func (c *Circuit) Key() Key {
	if c == nil {
		return Key{}
	}
	return c.key
}

// Status is [Manager.Status] for this circuit.
func (c *Circuit) Status() Status {
	if !c.valid() {
		return Status{Key: c.Key()}
	}
	return c.manager.Status(c.key)
}

// view returns the circuit's view in the current table.
func (c *Circuit) view() *view {
	if v := c.cachedView.Load(); v != nil && v.table == c.manager.table.Load() {
		return v
	}
	v := c.manager.lookup(c.key)
	c.cachedView.Store(v)
	return v
}

// CanExecute is [Manager.CanExecute] for this circuit.
func (c *Circuit) CanExecute(ctx context.Context) error {
	if !c.valid() {
		return errNil
	}
	v := c.view()
	if v.entry == nil {
		c.manager.count(Closed, admitted)
		c.manager.wantRound()
		return nil
	}
	_, err := c.manager.decide(ctx, c.key, v.entry)
	return err
}

// Do calls fn through the circuit and records its outcome in Config.Counter, as Config.Classify
// decides.
//
// If the circuit sheds the call, Do does not call fn and returns a *[ShedError]. Otherwise it
// returns the error of fn unchanged. If fn panics, the panic continues and nothing is recorded.
//
// If the context has ended, Do returns its error; nothing is decided or counted. The same holds for
// a nil fn. Use the function [Do] for a function that returns a value.
func (c *Circuit) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, err := c.checkArgs(ctx, fn != nil)
	if err != nil {
		return err
	}
	_, generation, err := c.admit(ctx)
	if err != nil {
		return err
	}
	err = fn(ctx)
	c.record(ctx, generation, err)
	return err
}

// checkArgs returns the context of a call, or an error if the call cannot be made.
func (c *Circuit) checkArgs(ctx context.Context, function bool) (context.Context, error) {
	if !c.valid() {
		return ctx, errNil
	}
	if !function {
		return ctx, errNoFunction
	}
	ctx = orBackground(ctx)
	return ctx, ctx.Err()
}

// record counts the outcome of a call.
func (c *Circuit) record(ctx context.Context, generation uint64, err error) {
	m := c.manager
	if m.config.Counter == nil {
		return
	}
	if failed, counts := m.result(c.view(), generation, m.classify(ctx, err)); counts {
		m.config.Counter.addTo(c.slot(), failed)
		m.wantRoundAfter(failed)
	}
}

// Acquire asks for permission for a call that the caller makes itself. It returns a [Permit], or a
// *[ShedError]. End the call with [Permit.Done] or [Permit.Ignore]. Unlike Do, Acquire does not
// check whether ctx has ended.
func (c *Circuit) Acquire(ctx context.Context) (Permit, error) {
	if !c.valid() {
		return Permit{}, errNil
	}
	ctx = orBackground(ctx)
	state, generation, err := c.admit(ctx)
	if err != nil {
		return Permit{}, err
	}
	t := c.manager.calls.Get().(*pooledCall)
	t.manager, t.key, t.ctx, t.generation = c.manager, c.key, ctx, generation
	return Permit{call: t, use: t.use.Load(), state: state}, nil
}

// admit decides about a call. It returns the circuit's state and generation.
func (c *Circuit) admit(ctx context.Context) (State, uint64, error) {
	e := c.view().entry
	if e == nil {
		c.manager.count(Closed, admitted)
		c.manager.wantRound()
		return Closed, 0, nil
	}
	state, err := c.manager.decide(ctx, c.key, e)
	return state, e.generation, err
}

// slot returns the slot in which the circuit's results are counted.
func (c *Circuit) slot() *slot {
	if s := c.cachedSlot.Load(); s != nil && !s.removed.Load() {
		return s
	}
	s := c.manager.config.Counter.slot(c.key)
	c.cachedSlot.Store(s)
	return s
}

// Do is [Circuit.Do] for a function that returns a value. A shed call returns the zero value.
func Do[T any](ctx context.Context, c *Circuit, fn func(context.Context) (T, error)) (value T, err error) {
	ctx, err = c.checkArgs(ctx, fn != nil)
	if err != nil {
		return value, err
	}
	_, generation, err := c.admit(ctx)
	if err != nil {
		return value, err
	}
	value, err = fn(ctx)
	c.record(ctx, generation, err)
	return value, err
}
