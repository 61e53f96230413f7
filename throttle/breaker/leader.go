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

// A lease lasts leaseNum/leaseDen SampleRates and is extended three times in that time. The other
// managers campaign four times per SampleRate. So a leader that dies is replaced within 1.75
// SampleRates.
const (
	leaseNum, leaseDen     = 3, 2
	extensions             = 3
	electionsPerSampleRate = 4
	maxPerSampleRate       = 32 // limit of campaigns and probe requests, whatever Remaining the store returns
	maxPollFailures        = 3  // consecutive failed polls after which the leader resigns
)

var errLeaseEnded = errors.New("breaker: the store granted a lease that has already ended")

func (m *Manager) leaseTTL() time.Duration { return m.config.SampleRate * leaseNum / leaseDen }

// term is what the store has answered to a campaign.
type term struct {
	store.Lease
	until time.Time // by this process's clock; after that, another manager may lead
	led   bool      // this manager leads
}

func (m *Manager) leadLoop(ctx context.Context) {
	for ctx.Err() == nil {
		pause := m.config.SampleRate / electionsPerSampleRate
		t, err := m.campaign(ctx)
		switch {
		case err != nil:
		case t.led && t.Remaining <= 0:
			m.fail(LeaseLost, errLeaseEnded)
		case t.led:
			if !m.leadUntilLost(ctx, t) {
				pause = m.config.SampleRate // let another manager poll, whose polls may work
			}
		case t.Remaining > 0:
			pause = min(pause, max(t.Remaining, m.minElectionWait()))
		}
		sleep(ctx, pause+rand.N(pause/8+1))
	}
}

// minElectionWait is the shortest time between two campaigns.
func (m *Manager) minElectionWait() time.Duration { return m.config.SampleRate / maxPerSampleRate }

// campaign asks the store for the lease or its extension. A lease ends after the requested TTL, even
// if the store returns a longer one.
func (m *Manager) campaign(ctx context.Context) (term, error) {
	asked := time.Now()
	l, err := ask(ctx, m, m.config.Store.Campaign, store.Candidate{Owner: m.owner, TTL: m.leaseTTL()})
	if err != nil {
		return term{}, err
	}
	m.lease.Store(&l)
	return term{Lease: l, until: asked.Add(min(l.Remaining, m.leaseTTL())), led: l.Owner == m.owner}, nil
}

// leadUntilLost leads until ctx ends or the lease is lost, and then resigns. It returns false if it
// resigned because polls failed.
func (m *Manager) leadUntilLost(ctx context.Context, t term) bool {
	m.setLeading(t, true)
	leading, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		defer stop()
		m.extend(leading, t)
	})
	tasks.Go(func() { m.writeTerm(leading, t.Term) })
	pollsWork := m.sampleLoop(leading, t.Term)
	stop()
	tasks.Wait()
	m.setLeading(t, false)
	m.resign(ctx, t.Lease)
	return pollsWork
}

func (m *Manager) setLeading(t term, leads bool) {
	m.leading.Store(leads)
	if h := m.config.Hooks.Led; h != nil {
		m.callHook(func() { h(LeadEvent{Manager: m, Leads: leads, Term: t.Term}) })
	}
}

// extend extends the lease until ctx ends or the lease is lost. The lease is lost if another
// manager has it, or if it could not be extended in time.
func (m *Manager) extend(ctx context.Context, t term) {
	for sleep(ctx, m.untilExtend(t)) {
		inTime, cancel := context.WithDeadline(ctx, t.until)
		next, err := m.campaign(inTime)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && next.led && next.Term == t.Term:
			t = next
		case err == nil:
			m.fail(LeaseLost, fmt.Errorf("breaker: lease lost: %s leads with term %d", check.Shown(next.Owner), next.Term))
			return
		case !time.Now().Before(t.until):
			m.fail(LeaseLost, fmt.Errorf("breaker: lease lost: it could not be extended in time: %w", err))
			return
		}
	}
}

// untilExtend returns how long to wait before the next extension. If the rest of the lease is too
// short for a second attempt, it returns the whole rest.
func (m *Manager) untilExtend(t term) time.Duration {
	left := time.Until(t.until)
	if left < 2*m.minElectionWait() {
		return left
	}
	return min(m.leaseTTL()/extensions, left/2)
}

// resign ends the lease, so that another manager can lead at once. It waits for the store at most
// StoreTimeout, even if ctx has ended.
func (m *Manager) resign(ctx context.Context, l store.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.StoreTimeout)
	defer cancel()
	_, _ = ask(ctx, m, func(ctx context.Context, l store.Lease) (struct{}, error) {
		return struct{}{}, m.config.Store.Resign(ctx, l)
	}, l)
}

// sampleLoop makes a round per SampleRate until ctx ends. It returns false if too many polls failed
// in a row.
func (m *Manager) sampleLoop(ctx context.Context, term uint64) bool {
	failures, rate := 0, m.config.SampleRate
	next := time.Now().Add(rate)
	for {
		if err := m.sample(ctx, term); !errors.Is(err, errPoll) {
			failures = 0
		} else if failures++; failures == maxPollFailures {
			return false
		}
		if !sleep(ctx, time.Until(next)) {
			return true
		}
		next = next.Add(rate + time.Since(next).Truncate(rate)) // skip missed rounds
	}
}

// writeTerm writes the new term to every shard, so that earlier leaders are fenced. It ignores
// conflicts: a changed shard has the term already or gets it with the next write. It stops if the
// store fails; then later writes carry the term.
func (m *Manager) writeTerm(ctx context.Context, term uint64) {
	for i := range m.shards {
		b := store.Batch{Shard: i, Term: term, Expect: m.shards[i].Load().version}
		_, err := ask(ctx, m, m.config.Store.Apply, b)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return
		}
	}
}
