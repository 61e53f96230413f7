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

// errPoll marks failed polls.
var errPoll = errors.New("breaker: poll failed")

// sample makes one round. If a shard cannot be written, it goes on with the next.
func (m *Manager) sample(ctx context.Context, term uint64) error {
	if err := m.readChanges(ctx); err != nil {
		return err
	}
	if m.tuning.Load().Mode == throttle.ModeOff && m.config.ForTenant == nil {
		return nil
	}
	round := m.newRound(m.storeNow())
	results, err := m.poll(ctx, round.query)
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

func (m *Manager) poll(ctx context.Context, q PollQuery) (map[Key]PollResult, error) {
	if m.polling.Swap(true) {
		return nil, errors.New("breaker: the previous poll has not returned yet")
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.PollTimeout)
	defer cancel()
	return remote.Await(ctx, func(ctx context.Context) (map[Key]PollResult, error) {
		defer m.polling.Store(false) // even after the timeout
		return m.config.Poll(ctx, q)
	}, nil)
}

type round struct {
	manager *Manager
	tenants *tenants
	now     time.Time               // by the store's clock
	before  [store.NumShards]*shard // the poll: circuits that have changed since are left out
	query   PollQuery
	results map[Key]PollResult     // of circuits with a record, and of those in opening
	opening [store.NumShards][]Key // circuits without a record that may open
}

func (m *Manager) newRound(now time.Time) *round {
	c := &m.config
	r := &round{manager: m, tenants: m.tenants(), now: now, results: map[Key]PollResult{}}
	r.query = PollQuery{Window: c.ObservabilityWindow, Since: map[Key]time.Duration{}}
	if c.ForTenant == nil {
		r.query.MinFailures = float64(c.MinimumRequestCount) * c.FailureThreshold / 100
	}
	for i := range m.shards {
		r.before[i] = m.shards[i].Load()
		for k, rec := range r.before[i].records {
			r.query.Since[k] = min(max(0, now.Sub(rec.countFrom(now))), c.ObservabilityWindow)
		}
	}
	return r
}

// addResults adds the results of the poll that can change a circuit.
func (r *round) addResults(results map[Key]PollResult) {
	for k, n := range results {
		if !n.valid() {
			r.manager.fail(CountsInvalid, fmt.Errorf("breaker: poll returned %v failures and %v successes for %s", n.Failures, n.Successes, shownKey(k)))
		} else if _, known := r.query.Since[k]; !known {
			if settings := r.tenants.settings(k.Tenant); settings.Mode == throttle.ModeOff || !settings.shouldOpen(n) {
				continue
			}
			i := k.RecordID().Shard()
			r.opening[i] = append(r.opening[i], k)
		}
		r.results[k] = n
	}
}

// decide returns the changes to the circuits of one shard. It leaves out circuits that have changed
// since the poll, or have invalid results.
func (r *round) decide(s *shard) []edit {
	var edits []edit
	for k, rec := range s.records {
		polled := r.before[s.index].records[k]
		if polled != nil && polled.Generation == rec.Generation && r.results[k].valid() {
			edits = r.evaluate(edits, *rec)
		}
	}
	for _, k := range r.opening[s.index] {
		if s.records[k] == nil { // otherwise another manager has created it
			edits = r.evaluate(edits, record{Status: Status{Key: k, ChangedAt: r.now}, calledAt: r.now})
		}
	}
	return edits
}

func (r *round) evaluate(edits []edit, rec record) []edit {
	m := &machine{record: rec, settings: r.tenants.settings(rec.Key.Tenant), now: r.now, random: rand.Float64(), results: r.results[rec.Key]}
	m.evaluate()
	switch {
	case m.removable(r.now, r.manager.config.ObservabilityWindow) && len(m.events) == 0:
		return append(edits, edit{key: m.Key})
	case !m.changed:
		return edits
	}
	return append(edits, edit{key: m.Key, record: &m.record, events: m.events})
}

// PollFunc counts how the calls of each circuit ended. The leader calls it once per SampleRate. It
// may leave out circuits without calls. It must return when its context ends. If it does not, the
// round fails, and no other poll starts before it has returned.
//
// sqlstore.Poller counts in a table of deliveries. Without such a table, write a PollFunc over what
// sees the calls of all processes: a query to a metrics server, or counters in Redis that each
// process increments.
type PollFunc func(ctx context.Context, q PollQuery) (map[Key]PollResult, error)

// PollQuery describes what to count. Durations reach back from now by the clock of the counting
// system, so that no clocks are compared.
type PollQuery struct {
	// Window is how far back to count.
	Window time.Duration
	// Since is how far back to count for circuits that changed within the window. Earlier results
	// do not count.
	Since map[Key]time.Duration
	// MinFailures applies to circuits that are not in Since: those with fewer failures may be left
	// out.
	MinFailures float64
}

// PollResult is how the calls of one circuit ended. The counts are floating point for sources such
// as PromQL's increase.
type PollResult struct {
	Failures  float64
	Successes float64
	// Reporters is how many managers saw a failure, for Config.MinReporters. 0 means unknown.
	Reporters int
}
