package breaker

import (
	"context"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
)

// Permit is permission for one call: see [Circuit.Acquire]. Methods of the zero Permit do nothing.
type Permit struct {
	call  *pooledCall
	use   uint64
	state State
}

// pooledCall is the call of a Permit. It is reused. The use counter keeps an ended Permit from
// affecting a later call.
type pooledCall struct {
	manager    *Manager
	key        Key
	ctx        context.Context
	generation uint64
	use        atomic.Uint64
}

// State returns the circuit's state: Closed, or HalfOpen for a probe. In ModeShadow it may be any.
func (p Permit) State() State { return p.state }

// Done ends the call with its error, which Config.Classify classifies. If the circuit has changed
// since the call was admitted, the result is not counted: it belongs to the earlier state. Only the
// first Done or Finish has an effect, copies of the Permit included.
func (p Permit) Done(err error) {
	p.finish(func(ctx context.Context, m *Manager) throttle.Outcome { return m.classify(ctx, err) })
}

// Finish ends the call with an outcome: Accepted is a success, Rejected and Overloaded are failures. Any
// other one does not count.
func (p Permit) Finish(o throttle.Outcome) {
	p.finish(func(context.Context, *Manager) throttle.Outcome { return o })
}

func (p Permit) finish(outcome func(context.Context, *Manager) throttle.Outcome) {
	t, ok := p.end()
	if !ok {
		return
	}
	m, key, generation := t.manager, t.key, t.generation
	ctx := t.ctx
	m.putCall(t)
	if m.config.Counter == nil {
		return
	}
	if failed, counts := m.result(m.lookup(key), generation, outcome(ctx, m)); counts {
		m.config.Counter.add(key, failed)
		m.wantRoundAfter(failed)
	}
}

// end ends the permit. It returns false if the permit has ended before.
func (p Permit) end() (*pooledCall, bool) {
	if p.call == nil || !p.call.use.CompareAndSwap(p.use, p.use+1) {
		return nil, false
	}
	return p.call, true
}

func (m *Manager) putCall(t *pooledCall) {
	t.manager, t.key, t.ctx = nil, Key{}, nil
	m.calls.Put(t)
}

// result returns how a call ended, and whether that counts. It does not count if the outcome is
// ignored, or if the circuit has changed since the call was admitted.
func (m *Manager) result(v *view, generation uint64, outcome throttle.Outcome) (failed, counts bool) {
	failed = outcome == throttle.Rejected || outcome == throttle.Overloaded
	if !failed && outcome != throttle.Accepted {
		return false, false
	}
	now := uint64(0)
	if v.entry != nil {
		now = v.entry.generation
	}
	if now != generation {
		m.counters.late.Add(1)
		return false, false
	}
	return failed, true
}
