package breaker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// probes is what an agent may send to one half-open circuit.
type probes struct {
	demanded atomic.Bool // somebody wanted to call and could not

	mu        sync.Mutex
	left      int
	exhausted bool      // the store has no more for now
	until     time.Time // by the agent's clock: then left is worth nothing, and more can be asked for
	requested bool
	unused    int // grants in a row that nobody took
}

// probesWanted is how many probes are asked for at once.
const probesWanted = 1

// mostLapsed is how many grants in a row may lapse before no more are kept in stock: an endpoint that is called more seldom is probed at its
// second call.
const maxUnused = 20

// take takes one probe, if there is any.
func (p *probes) take(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || !now.Before(p.until) {
		return false
	}
	p.left--
	p.unused = 0
	return true
}

// idle reports whether so many grants have lapsed that nobody seems to want any more.
func (p *probes) idle(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left > 0 && !now.Before(p.until) {
		p.left = 0
		p.unused++
	}
	if p.unused < maxUnused {
		return false
	}
	p.unused = 0
	return true
}

// begin reports whether the store is to be asked for more: nobody asks, and it has not said that there are none for now.
func (p *probes) startRequest(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requested || now.Before(p.until) && (p.left > 0 || p.exhausted) {
		return false
	}
	p.requested = true
	return true
}

// grant is the store's answer: a count, and until when it holds. Without an answer, until is zero.
func (p *probes) setGrant(n int, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requested = false
	p.left, p.exhausted, p.until = n, n == 0, until
}

// prober asks the store for probes, in the background.
type prober struct {
	wake   chan struct{}
	mu     sync.Mutex
	wanted []*entry
}

// wantProbe has the store asked for a probe: by Run, or if there is none, by a goroutine that ends with the answer.
func (m *Manager) requestProbe(e *entry) {
	if m.prober.request(e) && !m.running.Load() {
		go m.requestProbes(context.Background())
	}
}

// want asks for a probe of the circuit, and reports whether that is news.
func (p *prober) request(e *entry) bool {
	if !e.probes.startRequest(time.Now()) {
		return false
	}
	p.mu.Lock()
	p.wanted = append(p.wanted, e)
	p.mu.Unlock()
	signal(p.wake)
	return true
}

// prefetch keeps one probe in stock for each half-open circuit that somebody wanted to call, so that a call that comes seldom finds one:
// what is granted holds for one SampleRate at most.
func (p *prober) prefetch(t *table) {
	now := time.Now()
	for _, v := range t.views {
		e := v.entry
		if e.probes == nil || e.forced || e.unlimited || !e.probes.demanded.Load() || e.stateAt(now) != HalfOpen {
			continue
		}
		if e.probes.idle(now) {
			e.probes.demanded.Store(false)
			continue
		}
		p.request(e)
	}
}

// keepProbing asks the store whenever a probe is wanted.
func (m *Manager) probeLoop(ctx context.Context) {
	for {
		select {
		case <-m.prober.wake:
			m.requestProbes(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// askForProbes asks for one probe of each circuit that wants any. No answer is none for now.
func (m *Manager) requestProbes(ctx context.Context) {
	m.prober.mu.Lock()
	wanted := m.prober.wanted
	m.prober.wanted = nil
	m.prober.mu.Unlock()
	if len(wanted) == 0 {
		return
	}
	asked := time.Now()
	grants, err := callStore(ctx, m.store, func(ctx context.Context, s store.Store) ([]store.ProbeGrant, error) {
		return s.Probe(ctx, probeRequests(wanted))
	})
	m.applyGrants(wanted, grants, err, asked)
}

// answer passes the grants of the store to the circuits that wanted them.
func (m *Manager) applyGrants(wanted []*entry, grants []store.ProbeGrant, err error, asked time.Time) {
	for i, e := range wanted {
		if err != nil || i >= len(grants) {
			e.probes.setGrant(0, time.Time{})
			continue
		}
		n, until := e.limitGrant(grants[i], asked, time.Now())
		m.counters.probes.Add(uint64(n))
		e.probes.setGrant(n, until)
	}
}

// understand makes sense of a grant: not more than was asked for, for not longer than it can hold. What is over already is none, and
// whatever the store says, it is not asked again at once.
func (e *entry) limitGrant(g store.ProbeGrant, asked, now time.Time) (n int, until time.Time) {
	every := e.settings.SampleRate
	until = asked.Add(min(g.Remaining, every))
	if now.Before(until) {
		n = min(max(0, g.Granted), probesWanted)
	}
	if n == 0 {
		until = latest(until, now.Add(every/maxPerSampleRate))
	}
	return n, until
}

func probeRequests(wanted []*entry) []store.ProbeRequest {
	requests := make([]store.ProbeRequest, len(wanted))
	for i, e := range wanted {
		requests[i] = store.ProbeRequest{
			ID: e.key.RecordID(), Generation: e.generation, Since: e.record.openUntil, Every: e.settings.SampleRate,
			Budget: e.settings.HalfOpenProbes, Want: probesWanted,
		}
	}
	return requests
}
