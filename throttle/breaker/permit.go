package breaker

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
)

// Permit is permission for one call: see [Circuit.Acquire]. Methods of the zero Permit do nothing.
type Permit struct {
	circuit    *Circuit
	ctx        context.Context
	generation uint64
	state      State
	ends       *atomic.Uint64 // pooled: counts the permits that have ended by it
	end        uint64         // its value until this permit ends, for all copies
}

// Acquire asks for permission for a call that the caller makes itself. It returns a [Permit], or a
// *[ShedError]. End the call with [Permit.Done] or [Permit.Finish]. Unlike Do, Acquire does not
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
	ends := c.manager.ends.Get().(*atomic.Uint64)
	return Permit{c, ctx, generation, state, ends, ends.Load()}, nil
}

// State returns the circuit's state: Closed, or HalfOpen for a probe. In ModeShadow it may be any.
func (p Permit) State() State { return p.state }

// Done ends the call with its error, which Config.Classify classifies. If the circuit has changed
// since the call was admitted, the result is not counted: it belongs to the earlier state. Only the
// first Done or Finish has an effect, copies of the Permit included.
func (p Permit) Done(err error) {
	if p.endFirst() {
		p.circuit.record(p.ctx, p.generation, err)
	}
}

// Finish ends the call with an outcome: Accepted is a success, Rejected and Overloaded are failures. Any
// other one does not count.
func (p Permit) Finish(o throttle.Outcome) {
	if p.endFirst() {
		p.circuit.recordOutcome(p.generation, o)
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

// record counts the outcome of a call that was admitted in a generation of the circuit.
func (c *Circuit) record(ctx context.Context, generation uint64, err error) {
	if c.manager.config.Counter != nil {
		c.recordOutcome(generation, c.manager.classify(ctx, err))
	}
}

func (c *Circuit) recordOutcome(generation uint64, o throttle.Outcome) {
	m, failed := c.manager, o == throttle.Rejected || o == throttle.Overloaded
	switch {
	case m.config.Counter == nil || !failed && o != throttle.Accepted:
	case c.entry().Generation != generation:
		m.counters.late.Add(1)
	default:
		m.config.Counter.addTo(c.slot(), failed)
		if failed { // a success alone opens no circuit
			m.wantRound()
		}
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
