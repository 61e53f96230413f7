package breaker

import (
	"context"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
)

// Permit is leave to make one call. The zero Permit is what a shed call gets, and its methods do nothing.
type Permit struct {
	call  *pooledCall
	use   uint64
	state State
}

// ticket keeps a permit's call until its end. It is used again, in rounds, so that a Permit whose round is over can do no harm.
type pooledCall struct {
	manager    *Manager
	key        Key
	ctx        context.Context
	generation uint64
	use        atomic.Uint64
}

// State returns the state that the circuit was in: Closed, or HalfOpen for a probe. In DryRun it may be any.
func (p Permit) State() State { return p.state }

// Done tells that the call has ended with err, which is classified as Config.Classify says. What ends after its circuit has changed
// counts for nothing, because it tells of the circuit as it was. The first Done or Ignore counts; any further one, also on a
// copy, does nothing.
func (p Permit) Done(err error) {
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
	if failed, counts := m.result(ctx, m.lookup(key), generation, err); counts {
		m.config.Counter.add(key, failed)
		m.wantRoundAfter(failed)
	}
}

// Ignore tells that the call has ended and says nothing about the endpoint.
func (p Permit) Ignore() {
	if t, ok := p.end(); ok {
		t.manager.putCall(t)
	}
}

// end ends the permit's round, if it has not ended.
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

// result says how a call ended, and whether that counts: not if it says nothing, nor if the circuit has changed since the call was
// admitted.
func (m *Manager) result(ctx context.Context, v *view, generation uint64, err error) (failed, counts bool) {
	outcome := m.classify(ctx, err)
	if outcome == throttle.Ignored {
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
	return outcome == throttle.Rejected, true
}
