package breaker

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// table holds the circuits that are not closed or have a past, and decides about calls. A circuit
// that is not in the table is closed. A table is immutable: a change replaces it.
type table struct {
	revisions    [store.NumShards]uint64 // of the shards from which the table was built
	stale        bool
	staleChanges uint64 // of the reading from which the table was built
	views        map[Key]*view
	none         view // of circuits that are not in the table
}

// view is one circuit in a table. Its entry is nil if the circuit is not in the table.
type view struct {
	table *table
	entry *entry
}

// entry is one circuit of a table.
type entry struct {
	key        Key
	state      State
	forced     bool
	shadow     bool
	unlimited  bool // admits all calls when its timeout has ended, because probes cannot be counted
	generation uint64
	until      time.Time // end of the open state, by this process's clock
	record     *record
	settings   *Config
	probes     *probes
	shedErr    *ShedError // while open or disabled
	noProbeErr *ShedError // while half-open, if there is no probe
}

// lookup returns the circuit of a key in the current table.
func (m *Manager) lookup(k Key) *view {
	t := m.table.Load()
	if v, ok := t.views[k]; ok {
		return v
	}
	return &t.none
}

// publish replaces the table with one of what is known now. It may run concurrently: each goroutine
// builds its table after it has loaded the one that it replaces. So no table is older than its
// predecessor.
func (m *Manager) publish() {
	for {
		last := m.table.Load()
		next := m.build(last)
		if m.table.CompareAndSwap(last, next) {
			m.resetCounters(last, next)
			return
		}
	}
}

// publishIfChanged publishes a table if anything has changed. With ForTenant it always does,
// because settings may have changed.
func (m *Manager) publishIfChanged() {
	if m.config.ForTenant != nil || !m.upToDate(m.table.Load()) {
		m.publish()
	}
}

// upToDate reports whether the table holds everything that is known.
func (m *Manager) upToDate(t *table) bool {
	for i := range m.shards {
		if t.revisions[i] != m.shards[i].Load().revision {
			return false
		}
	}
	return t.staleChanges == m.lastRead.Load().staleChanges
}

// build returns a table of what is known.
func (m *Manager) build(last *table) *table {
	clock := m.lastRead.Load()
	t := &table{stale: clock.stale, staleChanges: clock.staleChanges}
	t.none.table = t
	if t.stale && m.config.OnStale == FailClosed && m.mode() != throttle.ModeOff {
		t.none.entry = m.staleEntry()
	}
	tenants := m.tenants()
	now, storeNow := time.Now(), m.storeNow()
	for i := range m.shards {
		s := m.shards[i].Load()
		t.revisions[i] = s.revision
		if t.stale && m.config.OnStale != KeepLast {
			continue
		}
		for _, r := range s.records {
			settings := tenants.settings(r.key.Tenant)
			if settings.Mode == throttle.ModeOff || r.shadow && settings.Mode == throttle.ModeEnforce {
				continue
			}
			t.add(newEntry(r, settings, now.Add(min(r.openUntil.Sub(storeNow), settings.MaxBreakerTimeout))), last)
		}
	}
	return t
}

// add adds a circuit.
func (t *table) add(e *entry, last *table) {
	if t.views == nil {
		t.views = map[Key]*view{}
	}
	e.unlimited = t.stale
	e.inheritProbes(last)
	t.views[e.key] = &view{table: t, entry: e}
}

func newEntry(r *record, settings *Config, until time.Time) *entry {
	e := &entry{
		key: r.key, state: r.state, forced: r.forced, shadow: settings.Mode == throttle.ModeShadow, generation: r.generation, record: r, settings: settings,
	}
	e.shedErr = &ShedError{Breaker: settings.Name, Key: r.key, State: r.state, Reason: ErrOpen}
	switch {
	case r.state == Disabled:
		e.shedErr.Reason = ErrDisabled
	case r.state == Open && !r.forced:
		e.until, e.shedErr.until = until, until
	}
	if r.state == HalfOpen || r.state == Open {
		e.probes = &probes{}
		e.noProbeErr = &ShedError{Breaker: settings.Name, Key: r.key, State: HalfOpen, Reason: ErrTooManyRequests}
	}
	return e
}

// inheritProbes takes over the probes of the same generation.
func (e *entry) inheritProbes(last *table) {
	if last == nil || e.probes == nil {
		return
	}
	if v, ok := last.views[e.key]; ok && v.entry.generation == e.generation && v.entry.probes != nil {
		e.probes = v.entry.probes
	}
}

// staleEntry is the entry of every circuit while the store is stale and FailClosed applies. Its
// error is made per call, with the call's key.
func (m *Manager) staleEntry() *entry {
	settings := m.settings()
	return &entry{state: Closed, shadow: settings.Mode == throttle.ModeShadow, settings: settings}
}

// circuits returns the number of circuits in each state.
func (t *table) circuits() [numStates]int {
	var n [numStates]int
	now := time.Now()
	for _, v := range t.views {
		if !v.entry.record.forgotten() {
			n[v.entry.stateAt(now)]++
		}
	}
	return n
}

// stateAt returns the state at an instant. An open circuit whose timeout has ended is half-open,
// even if the leader has not recorded that yet.
func (e *entry) stateAt(now time.Time) State {
	if e.state == Open && !e.forced && !now.Before(e.until) {
		return HalfOpen
	}
	return e.state
}

// resetCounters discards the counted results of circuits that have changed.
func (m *Manager) resetCounters(last, next *table) {
	if m.config.Counter == nil || last == nil {
		return
	}
	for k, v := range next.views {
		before, ok := last.views[k]
		if !ok || before.entry.generation != v.entry.generation {
			m.config.Counter.reset(k)
		}
	}
}
