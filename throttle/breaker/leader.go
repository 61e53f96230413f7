package breaker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// A lease lasts for leaseNum/leaseDen sample rates, and is extended three times within that. Whoever does not lead looks four times per
// sample rate whether anybody does. So a leader that dies is followed within 1.75 sample rates.
const (
	leaseNum, leaseDen     = 3, 2
	extensions             = 3
	electionsPerSampleRate = 4
	maxPerSampleRate       = 32 // times that the lease, or a probe, is asked for, whatever the store says of how long it lasts
	maxPollFailures        = 3  // polls in a row, after which another one may try
)

var errLeaseEnded = errors.New("breaker: the store has granted a lease that is over already")

func (m *Manager) leaseTTL() time.Duration { return m.config.SampleRate * leaseNum / leaseDen }

// term is a time as leader.
type term struct {
	lease store.Lease
	until time.Time // by this agent's clock: then somebody else may lead
}

// keepLeading leads whenever it can.
func (m *Manager) leadLoop(ctx context.Context) {
	for ctx.Err() == nil {
		wait := m.config.SampleRate / electionsPerSampleRate
		t, led, err := m.campaign(ctx)
		switch {
		case err != nil:
		case led && t.lease.Remaining <= 0:
			m.fail(LeaseLost, errLeaseEnded)
		case led:
			if !m.leadUntilLost(ctx, t) {
				wait = m.config.SampleRate // its polls fail: somebody else's may not
			}
		case t.lease.Remaining > 0:
			wait = min(wait, max(t.lease.Remaining, m.minElectionWait()))
		}
		sleep(ctx, wait+rand.N(wait/8+1))
	}
}

// shortestLook is the shortest time between two looks at the lease.
func (m *Manager) minElectionWait() time.Duration { return m.config.SampleRate / maxPerSampleRate }

// campaign asks for the lease, or for its extension, and reports whether this agent leads. A lease lasts no longer than was asked for.
func (m *Manager) campaign(ctx context.Context) (term, bool, error) {
	asked := time.Now()
	l, err := callStore(ctx, m.store, func(ctx context.Context, s store.Store) (store.Lease, error) {
		return s.Campaign(ctx, store.Candidate{Owner: m.owner, TTL: m.leaseTTL()})
	})
	if err != nil {
		return term{}, false, err
	}
	m.lease.Store(&l)
	return term{lease: l, until: asked.Add(min(l.Remaining, m.leaseTTL()))}, l.Owner == m.owner, nil
}

// reign leads until ctx ends or the lease is lost, and then resigns. It reports false if it has stood back because its polls failed.
func (m *Manager) leadUntilLost(ctx context.Context, t term) bool {
	m.setLeading(t.lease, true)
	reign, lost := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		defer lost()
		m.extend(reign, t)
	})
	beside.Go(func() { m.writeTerm(reign, t.lease.Term) })
	able := m.sampleLoop(reign, t.lease.Term)
	lost()
	beside.Wait()
	m.setLeading(t.lease, false)
	m.resign(ctx, t.lease)
	return able
}

// lead notes and tells whether this agent leads.
func (m *Manager) setLeading(l store.Lease, leads bool) {
	m.leading.Store(leads)
	if h := m.config.Hooks.Led; h != nil {
		m.callHook(func() { h(LeadEvent{Manager: m, Leads: leads, Term: l.Term}) })
	}
}

// extend extends the lease until ctx ends or the lease is lost: because somebody else has it, or because it could not be extended in time.
func (m *Manager) extend(ctx context.Context, t term) {
	for sleep(ctx, m.untilExtend(t)) {
		inTime, cancel := context.WithDeadline(ctx, t.until)
		next, led, err := m.campaign(inTime)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && led && next.lease.Term == t.lease.Term:
			t = next
		case err == nil:
			m.fail(LeaseLost, fmt.Errorf("breaker: %s leads, with term %d", check.Shown(next.lease.Owner), next.lease.Term))
			return
		case !time.Now().Before(t.until):
			m.fail(LeaseLost, fmt.Errorf("breaker: the lease could not be extended: %w", err))
			return
		}
	}
}

// untilExtension is how long to wait before the lease is extended. What is left of it is waited for to its end if it is too short
// to try again within.
func (m *Manager) untilExtend(t term) time.Duration {
	left := time.Until(t.until)
	if left < 2*m.minElectionWait() {
		return left
	}
	return min(m.leaseTTL()/extensions, left/2)
}

// resign lets somebody else lead at once. It is tried for a moment, also if ctx has ended.
func (m *Manager) resign(ctx context.Context, l store.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.StoreTimeout)
	defer cancel()
	_, _ = callStore(ctx, m.store, func(ctx context.Context, s store.Store) (struct{}, error) { return struct{}{}, s.Resign(ctx, l) })
}

// keepSampling samples at its rate until ctx ends. It reports false if the poll has failed too often in a row.
func (m *Manager) sampleLoop(ctx context.Context, term uint64) bool {
	failures, rate := 0, m.config.SampleRate
	next := time.Now().Add(rate)
	for {
		if err := m.sample(ctx, term); errors.Is(err, errPoll) {
			failures++
		} else {
			failures = 0
		}
		if failures == maxPollFailures {
			return false
		}
		if !sleep(ctx, time.Until(next)) {
			return true
		}
		next = next.Add(rate + time.Since(next).Truncate(rate)) // what was missed is not made up for
	}
}

// stamp leaves the new term in every shard, so that a leader of before can write nothing any more. A shard that has changed meanwhile has
// it already, or gets it with the next write; a store that fails gets it then too.
func (m *Manager) writeTerm(ctx context.Context, term uint64) {
	for i := range m.shards {
		b := store.Batch{Shard: i, Term: term, Expect: m.shards[i].Load().version}
		_, err := callStore(ctx, m.store, func(ctx context.Context, s store.Store) (store.Version, error) { return s.Apply(ctx, b) })
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return
		}
	}
}
