package breaker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// probes are the probes that this manager may send to one half-open circuit.
type probes struct {
	demanded atomic.Bool // a call was shed for want of a probe

	mu        sync.Mutex
	ready     bool      // one probe may be sent
	until     time.Time // by this process's clock; after that, ready is void and the store can be asked again
	requested bool
	unused    int // consecutive grants without a call
}

// maxUnused is the number of consecutive unused grants after which no probe is kept ready. An
// endpoint with fewer calls is probed at its second call.
const maxUnused = 20

func (p *probes) take(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ready || !now.Before(p.until) {
		return false
	}
	p.ready, p.unused, p.until = false, 0, time.Time{} // ask the store again at once
	return true
}

// idle reports whether maxUnused consecutive grants were not used.
func (p *probes) idle(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready && !now.Before(p.until) {
		p.ready = false
		p.unused++
	}
	if p.unused < maxUnused {
		return false
	}
	p.unused = 0
	return true
}

// startRequest reports whether to ask the store for probes: no request is pending, and the store
// has not refused for this period.
func (p *probes) startRequest(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requested || now.Before(p.until) {
		return false
	}
	p.requested = true
	return true
}

// setGrant stores the store's answer. Without an answer, until is zero.
func (p *probes) setGrant(granted bool, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requested, p.ready, p.until = false, granted, until
}

// prober holds the requests for probes until the store is asked, in the background.
type prober struct {
	wake   chan struct{}
	mu     sync.Mutex
	wanted []*entry
}

// requestProbe adds a request for a probe, and reports whether it is new.
func (m *Manager) requestProbe(e *entry, now time.Time) bool {
	if !e.probes.startRequest(now) {
		return false
	}
	m.prober.mu.Lock()
	m.prober.wanted = append(m.prober.wanted, e)
	m.prober.mu.Unlock()
	signal(m.prober.wake)
	return true
}

// prefetch keeps one probe ready for each half-open circuit that has shed calls, so that an
// endpoint with few calls is probed at once. A grant lasts at most one SampleRate.
func (m *Manager) prefetch() {
	now, t := time.Now(), m.table.Load()
	for _, e := range t.entries {
		if t.stale || e.Forced || e.stateAt(now) != HalfOpen || !e.probes.demanded.Load() {
			continue
		}
		if e.probes.idle(now) {
			e.probes.demanded.Store(false)
			continue
		}
		m.requestProbe(e, now)
	}
}

func (m *Manager) probeLoop(ctx context.Context) {
	for {
		select {
		case <-m.prober.wake:
			m.askForProbes(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// askForProbes asks the store for one probe of each requesting circuit. If the store fails, no probe
// is granted.
func (m *Manager) askForProbes(ctx context.Context) {
	m.prober.mu.Lock()
	wanted := m.prober.wanted
	m.prober.wanted = nil
	m.prober.mu.Unlock()
	if len(wanted) == 0 {
		return
	}
	requests := make([]store.ProbeRequest, len(wanted))
	for i, e := range wanted {
		requests[i] = store.ProbeRequest{
			ID: e.Key.RecordID(), Generation: e.Generation, Since: e.openUntil, Every: e.settings.SampleRate,
			Budget: e.settings.HalfOpenProbes, Want: 1,
		}
	}
	asked := time.Now()
	grants, err := ask(ctx, m, m.config.Store.Probe, requests)
	for i, e := range wanted {
		if err != nil || i >= len(grants) {
			e.probes.setGrant(false, time.Time{})
		} else if e.limitGrant(grants[i], asked) {
			m.counters.probes.Add(1)
		}
	}
}

// limitGrant stores a grant, limited to one probe and to one SampleRate, and reports whether it grants
// a probe. One that has ended grants nothing. It also limits how soon the store is asked again.
func (e *entry) limitGrant(g store.ProbeGrant, asked time.Time) (granted bool) {
	now, every := time.Now(), e.settings.SampleRate
	until := asked.Add(min(g.Remaining, every))
	if granted = g.Granted > 0 && now.Before(until); !granted {
		until = latest(until, now.Add(every/maxPerSampleRate))
	}
	e.probes.setGrant(granted, until)
	return granted
}
