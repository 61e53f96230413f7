package breaker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// errPoll marks the failures of polls.
var errPoll = errors.New("breaker: poll failed")

// Sample makes one round by hand, without Run, for tests and for those who have a clock of their own: it takes the lease if it is free, reads,
// polls, decides and writes, notifies and asks for probes. It returns [ErrNotLeading] if another manager leads. The lease stays until it ends, so
// that the next round is this manager's too. It is one round and no more: nothing opens before the next, and [Stats].Running stays false.
func (m *Manager) Sample(ctx context.Context) error {
	if !m.valid() {
		return errNil
	}
	ctx = orBackground(ctx)
	if m.isClosed() {
		return ErrManagerClosed
	}
	m.stopLazy()
	t, led, err := m.campaign(ctx)
	if err != nil {
		return err
	}
	if !led {
		return ErrNotLeading
	}
	if err := m.sample(ctx, t.lease.Term); err != nil {
		return err
	}
	if !m.running.Load() {
		m.notifyOnce(ctx)
		m.prober.prefetch(m.table.Load())
		m.requestProbes(ctx)
	}
	return nil
}

// sample makes one round. A shard that cannot be written does not keep it from the next one.
func (m *Manager) sample(ctx context.Context, term uint64) error {
	if err := m.readChanges(ctx); err != nil {
		m.checkStale()
		return err
	}
	if m.config.Mode == throttle.ModeOff && m.config.ForTenant == nil {
		return nil
	}
	round := m.newRound(m.storeNow())
	results, err := m.poll(ctx, round.query())
	if err != nil {
		if ctx.Err() == nil {
			m.fail(PollFailed, err)
		}
		return fmt.Errorf("%w: %w", errPoll, err)
	}
	round.addResults(results)
	var errs []error
	for i := range m.shards {
		if err := m.update(ctx, i, term, round.decide); err != nil && ctx.Err() == nil {
			errs = append(errs, err)
		}
	}
	m.publishIfChanged()
	return errors.Join(errs...)
}

// poll asks the user's function, and waits no longer than PollTimeout.
func (m *Manager) poll(ctx context.Context, q PollQuery) (map[Key]PollResult, error) {
	if m.polling.Swap(true) {
		return nil, errors.New("breaker: the last poll has not returned yet")
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.PollTimeout)
	defer cancel()
	return remote.Await(ctx, func(ctx context.Context) (map[Key]PollResult, error) {
		defer m.polling.Store(false) // however late
		return m.config.Poll(ctx, q)
	}, nil)
}

// round is one round of decisions.
type round struct {
	manager     *Manager
	tenants     *tenants
	now         time.Time // by the store's clock
	counted     map[store.RecordID]counts
	newCircuits [store.NumShards]map[store.RecordID]Key // circuits that nothing is known of, and that may have to open
	known       map[Key]*record                         // circuits that something is known of, as they were when the poll was asked
}

func (m *Manager) newRound(now time.Time) *round {
	r := &round{manager: m, tenants: m.tenants(), now: now, counted: map[store.RecordID]counts{}, known: map[Key]*record{}}
	for i := range m.shards {
		for _, rec := range m.shards[i].Load().records {
			r.known[rec.key] = rec
		}
	}
	return r
}

// query says what is to be polled.
func (r *round) query() PollQuery {
	c := &r.manager.config
	q := PollQuery{Window: c.ObservabilityWindow, Since: map[Key]time.Duration{}}
	if c.ForTenant == nil {
		q.MinFailures = float64(c.MinimumRequestCount) * c.FailureThreshold / 100
	}
	for k, rec := range r.known {
		q.Since[k] = min(max(0, r.now.Sub(rec.countFrom(r.now))), c.ObservabilityWindow)
	}
	return q
}

// take sorts what was polled: by the records that are known, and by what has to open.
func (r *round) addResults(results map[Key]PollResult) {
	for k, p := range results {
		n := counts{failures: p.Failures, successes: p.Successes, reporters: p.Reporters}
		if !n.valid() {
			r.manager.fail(CountsInvalid, fmt.Errorf("breaker: poll returned %v failures and %v successes for %s", p.Failures, p.Successes, shownKey(k)))
			delete(r.known, k)
			continue
		}
		_, known := r.known[k]
		if settings := r.tenants.settings(k.Tenant); !known && (settings.Mode == throttle.ModeOff || !settings.shouldOpen(n)) {
			continue
		}
		id := k.RecordID()
		r.counted[id] = n
		if known {
			continue
		}
		if r.newCircuits[id.Shard()] == nil {
			r.newCircuits[id.Shard()] = map[store.RecordID]Key{}
		}
		r.newCircuits[id.Shard()][id] = k
	}
}

// think decides about the circuits of one shard.
func (r *round) decide(s *shard) []edit {
	var edits []edit
	for id, rec := range s.records {
		if asked, ok := r.known[rec.key]; !ok || asked.generation != rec.generation {
			continue // it has changed since the poll was asked, or its counts make no sense
		}
		if e, ok := r.evaluate(id, *rec); ok {
			edits = append(edits, e)
		}
	}
	for id, k := range r.newCircuits[s.index] {
		if _, ok := s.records[id]; ok {
			continue // somebody else was faster
		}
		if e, ok := r.evaluate(id, record{key: k, changedAt: r.now, calledAt: r.now}); ok {
			edits = append(edits, e)
		}
	}
	return edits
}

// evaluate moves one circuit.
func (r *round) evaluate(id store.RecordID, rec record) (edit, bool) {
	m := machine{
		settings: r.tenants.settings(rec.key.Tenant), now: r.now, random: rand.Float64(), counts: r.counted[id], record: rec,
	}
	written := m.evaluate()
	next := &m.record
	if next.removable(r.now, r.manager.config.ObservabilityWindow) && len(m.events) == 0 {
		return edit{id: id}, true
	}
	if !written {
		return edit{}, false
	}
	r.manager.addPending(next, m.events)
	return edit{id: id, record: next, events: m.events}, true
}

// PollFunc counts how the calls of every circuit ended lately. The leader asks it once per Config.SampleRate. It may leave out
// circuits without calls. It must return when its context ends; a poll that does not is left behind, and no other one begins before it
// has returned.
type PollFunc func(ctx context.Context, q PollQuery) (map[Key]PollResult, error)

// PollQuery says what to count. Spans reach back from now, by the clock of whoever counts: no clock is compared with another's.
type PollQuery struct {
	// Window is how far back to count.
	Window time.Duration
	// Since is how far back to count for circuits that changed within the window. What happened before is of no account.
	Since map[Key]time.Duration
	// MinFailures is the fewest failures that matter for circuits that are not in Since: those with fewer may be left out.
	MinFailures float64
}

// PollResult is how the calls of one circuit ended. The counts are floating point because some sources know no others, such as
// PromQL's increase.
type PollResult struct {
	Failures  float64
	Successes float64
	// Reporters is how many agents saw a failure, for Config.MinReporters; 0 means that nobody knows.
	Reporters int
}
