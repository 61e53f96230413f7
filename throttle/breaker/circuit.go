package breaker

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/window"
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
	if e.admitsAll { // as in admit, but without a call
		c.manager.wantRound()
		c.manager.count(Closed, admitted)
		return nil
	}
	_, err := c.manager.admit(ctx, c.key, e)
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
	if e.admitsAll { // as in admit
		m.wantRound()
		m.count(Closed, admitted)
		return nil
	}
	_, err := m.admit(ctx, k, e)
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
	ctx, a, err := c.begin(ctx, fn != nil)
	if err != nil {
		return err
	}
	err = fn(ctx)
	c.record(ctx, a, err)
	return err
}

// Do is [Circuit.Do] for a function that returns a value. A shed call returns the zero value.
func Do[T any](ctx context.Context, c *Circuit, fn func(context.Context) (T, error)) (value T, err error) {
	ctx, a, err := c.begin(ctx, fn != nil)
	if err != nil {
		return value, err
	}
	value, err = fn(ctx)
	c.record(ctx, a, err)
	return value, err
}

// admission is the circuit as it was when a call was admitted.
type admission struct {
	generation uint64
	state      State
}

// begin admits a call. It returns the call's context and the circuit as it is now, or an error if the
// call must not be made.
func (c *Circuit) begin(ctx context.Context, function bool) (_ context.Context, a admission, err error) {
	if !c.valid() {
		return ctx, a, errNil
	}
	if !function {
		return ctx, a, errNoFunction
	}
	ctx = orBackground(ctx)
	if err := ctx.Err(); err != nil {
		return ctx, a, err
	}
	e := c.entry()
	a.generation = e.Generation
	a.state, err = c.manager.admit(ctx, c.key, e)
	return ctx, a, err
}

func (c *Circuit) entry() *entry {
	if e := c.cachedEntry.Load(); e != nil && e.table == c.manager.table.Load() {
		return e
	}
	e := c.manager.lookup(c.key)
	c.cachedEntry.Store(e)
	return e
}

// Permit is permission for one call: see [Circuit.Acquire]. Methods of the zero Permit do nothing.
type Permit struct {
	circuit *Circuit
	ctx     context.Context
	admission
	ends *atomic.Uint64 // pooled: counts the permits that have ended by it
	end  uint64         // its value until this permit ends, for all copies
}

// Acquire asks for permission for a call that the caller makes itself. It returns a [Permit], or a
// *[ShedError]. End the call with [Permit.Done] or [Permit.Finish]. Unlike Do, Acquire does not
// check whether ctx has ended.
func (c *Circuit) Acquire(ctx context.Context) (Permit, error) {
	if !c.valid() {
		return Permit{}, errNil
	}
	ctx = orBackground(ctx)
	e := c.entry()
	state, err := c.manager.admit(ctx, c.key, e)
	if err != nil {
		return Permit{}, err
	}
	ends := c.manager.ends.Get().(*atomic.Uint64)
	return Permit{c, ctx, admission{e.Generation, state}, ends, ends.Load()}, nil
}

// State returns the circuit's state: Closed, or HalfOpen for a probe. In ModeShadow it may be any.
func (p Permit) State() State { return p.state }

// Done ends the call with its error, which Config.Classify classifies. If the circuit has changed
// since the call was admitted, the result is not counted: it belongs to the earlier state. Only the
// first Done or Finish has an effect, copies of the Permit included.
func (p Permit) Done(err error) {
	if p.endFirst() {
		p.circuit.record(p.ctx, p.admission, err)
	}
}

// Finish ends the call with an outcome: Accepted is a success, Rejected and Overloaded are failures. Any
// other one does not count.
func (p Permit) Finish(o throttle.Outcome) {
	if p.endFirst() {
		p.circuit.recordOutcome(p.admission, o)
	}
}

// endFirst ends the permit, and reports whether it had not ended before.
func (p Permit) endFirst() bool {
	if p.ends == nil || !p.ends.CompareAndSwap(p.end, p.end+1) {
		return false
	}
	p.circuit.manager.ends.Put(p.ends)
	return true
}

// record counts the outcome of a call.
func (c *Circuit) record(ctx context.Context, a admission, err error) {
	if c.manager.config.Counter != nil {
		c.recordOutcome(a, c.manager.classify(ctx, err))
	}
}

func (c *Circuit) recordOutcome(a admission, o throttle.Outcome) {
	m, failed := c.manager, o == throttle.Rejected || o == throttle.Overloaded
	switch {
	case m.config.Counter == nil || !failed && o != throttle.Accepted:
	case a.state == Open: // in ModeShadow: it is no probe
	case c.entry().Generation != a.generation:
		m.counters.late.Add(1)
	case failed:
		m.config.Counter.add(c.slot(), window.Rejected)
		m.wantRound() // a success alone opens no circuit
	default:
		m.config.Counter.add(c.slot(), window.Accepted)
	}
}

func (c *Circuit) slot() *slot {
	if s := c.cachedSlot.Load(); s != nil && !s.removed.Load() {
		return s
	}
	s := c.manager.config.Counter.slot(c.key)
	c.cachedSlot.Store(s)
	return s
}

// classify returns Accepted for a success, Rejected for a failure and Ignored for neither.
func (m *Manager) classify(ctx context.Context, err error) throttle.Outcome {
	if err == nil {
		return throttle.Accepted
	}
	if c := m.config.Classify; c != nil && !marked(err) {
		if o, ok := c(ctx, err); ok && (o < throttle.Shed || o == throttle.Overloaded) {
			return o
		}
	}
	if throttle.DefaultClassify(ctx, err) == throttle.Ignored {
		return throttle.Ignored
	}
	return throttle.Rejected
}

// marked reports whether an error has a mark of [throttle.MarkRejected] or [throttle.MarkOverloaded].
func marked(err error) bool {
	_, ok := errors.AsType[interface {
		error
		MarkedRejected()
	}](err)
	return ok
}
