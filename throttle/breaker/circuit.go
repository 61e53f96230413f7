package breaker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Circuit is a handle on one circuit. Keep it if the same circuit is used often: it caches the
// circuit's state, so that a call needs no lookup. All methods are safe for concurrent use. A nil
// context means context.Background. Calls through a nil Circuit, or through a circuit of a nil
// Manager, return an error.
type Circuit struct {
	manager     *Manager
	key         Key
	cachedEntry atomic.Pointer[entry]
	cachedSlot  atomic.Pointer[slot] // of Config.Counter
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

// CanExecute is [Manager.CanExecute] for this circuit.
func (c *Circuit) CanExecute(ctx context.Context) error {
	if !c.valid() {
		return errNil
	}
	e := c.entry()
	if e.admitsAll { // the usual case, without a call of another function
		c.manager.wantRound()
		c.manager.count(Closed, admitted)
		return nil
	}
	_, err := c.manager.decide(ctx, c.key, e)
	return err
}

// CanExecute reports whether a call may be made: it returns nil or a *[ShedError]. It never waits
// for the store. For a half-open circuit, nil permits one probe. CanExecute does not record how the
// call ends: that is left to Config.Poll. Use [Manager.Circuit] to make calls and record their
// results.
func (m *Manager) CanExecute(ctx context.Context, k Key) error {
	if !m.valid() {
		return errNil
	}
	e := m.lookup(k)
	if e.admitsAll {
		m.wantRound()
		m.count(Closed, admitted)
		return nil
	}
	_, err := m.decide(ctx, k, e)
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
	ctx, generation, err := c.begin(ctx, fn != nil)
	if err != nil {
		return err
	}
	err = fn(ctx)
	c.record(ctx, generation, err)
	return err
}

// Do is [Circuit.Do] for a function that returns a value. A shed call returns the zero value.
func Do[T any](ctx context.Context, c *Circuit, fn func(context.Context) (T, error)) (value T, err error) {
	ctx, generation, err := c.begin(ctx, fn != nil)
	if err != nil {
		return value, err
	}
	value, err = fn(ctx)
	c.record(ctx, generation, err)
	return value, err
}

// begin admits a call. It returns the call's context and the circuit's generation, or an error if
// the call must not be made.
func (c *Circuit) begin(ctx context.Context, function bool) (_ context.Context, generation uint64, err error) {
	if !c.valid() {
		return ctx, 0, errNil
	}
	if !function {
		return ctx, 0, errNoFunction
	}
	ctx = orBackground(ctx)
	if err := ctx.Err(); err != nil {
		return ctx, 0, err
	}
	_, generation, err = c.admit(ctx)
	return ctx, generation, err
}

// admit decides about a call. It returns the circuit's state and generation.
func (c *Circuit) admit(ctx context.Context) (State, uint64, error) {
	e := c.entry()
	if e.admitsAll {
		c.manager.wantRound()
		c.manager.count(Closed, admitted)
		return Closed, e.Generation, nil
	}
	state, err := c.manager.decide(ctx, c.key, e)
	return state, e.Generation, err
}

func (c *Circuit) entry() *entry {
	if e := c.cachedEntry.Load(); e != nil && e.table == c.manager.table.Load() {
		return e
	}
	e := c.manager.lookup(c.key)
	c.cachedEntry.Store(e)
	return e
}

// decide decides about a call. It returns the circuit's state, and an error if the call is shed.
func (m *Manager) decide(ctx context.Context, k Key, e *entry) (State, error) {
	m.wantRound()
	state, refusal := m.evaluate(k, e)
	if refusal == nil {
		m.count(state, admitted)
		return state, nil
	}
	shadow := e.settings.Mode == throttle.ModeShadow
	column := shed
	if shadow {
		column = shadowShed
	}
	m.count(state, column)
	if h := m.config.Hooks.Shed; h != nil {
		h(orBackground(ctx), ShedEvent{Manager: m, Key: k, State: state, Shadow: shadow})
	}
	if shadow {
		return state, nil
	}
	return state, refusal
}

// evaluate returns the circuit's state, and an error if it sheds the call.
func (m *Manager) evaluate(k Key, e *entry) (State, *ShedError) {
	switch {
	case e == &e.table.none:
		return Closed, &ShedError{Breaker: m.config.Name, Key: k, State: Closed, Reason: ErrStale}
	case e.State == Disabled, e.Forced:
		return e.State, e.shedErr
	}
	now := time.Now()
	if e.State == Open && now.Before(e.until) {
		e.probes.demanded.Store(true)
		return Open, e.shedErr
	}
	if e.table.stale || e.probes.take(now) { // without the store, probes cannot be counted
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
