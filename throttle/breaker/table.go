package breaker

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// table is what decides about calls: the circuits that are not closed, or have a past. It is never changed; when an agent has learned something,
// it puts another one in its place. A circuit that is not in it is closed.
type table struct {
	revisions    [store.NumShards]uint64 // of the shards that it was made of
	stale        bool
	staleChanges uint64 // of the reading
	views        map[Key]*view
	none         view // of circuits that are not in it
}

// view is what a table says about one circuit. Its entry is nil if nothing is known.
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
	unlimited  bool // when its time is over it lets everything through, because nobody can count probes
	generation uint64
	until      time.Time // by the agent's clock: of an open circuit
	record     *record
	settings   *Config
	probes     *probes
	shedErr    *ShedError // while it is open, or disabled
	noProbeErr *ShedError // while it is half-open
}

// look returns what the newest table says about a key.
func (m *Manager) lookup(k Key) *view {
	t := m.table.Load()
	if v, ok := t.views[k]; ok {
		return v
	}
	return &t.none
}

// publish puts a table in place that holds what is known now. Several may do so at once: each makes its table after it has seen the one
// that it replaces, so no table ever says less than the one before it.
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

// publishLearned publishes if there is anything new. Tenants' settings may always be.
func (m *Manager) publishIfChanged() {
	if m.config.ForTenant != nil || !m.upToDate(m.table.Load()) {
		m.publish()
	}
}

// saysAll reports whether the table says all that is known.
func (m *Manager) upToDate(t *table) bool {
	for i := range m.shards {
		if t.revisions[i] != m.shards[i].Load().revision {
			return false
		}
	}
	return t.staleChanges == m.lastRead.Load().staleChanges
}

// build makes a table of what is known.
func (m *Manager) build(last *table) *table {
	clock := m.lastRead.Load()
	t := &table{stale: clock.stale, staleChanges: clock.staleChanges}
	t.none.table = t
	if t.stale && m.config.OnStale == FailClosed && m.config.Mode != throttle.ModeOff {
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

// inherit takes over the probes of the same generation.
func (e *entry) inheritProbes(last *table) {
	if last == nil || e.probes == nil {
		return
	}
	if v, ok := last.views[e.key]; ok && v.entry.generation == e.generation && v.entry.probes != nil {
		e.probes = v.entry.probes
	}
}

// unknown is the entry of every circuit while nothing is known and nothing may pass. Its refusal is made for each call, with its key.
func (m *Manager) staleEntry() *entry {
	return &entry{state: Closed, shadow: m.config.Mode == throttle.ModeShadow, settings: &m.config}
}

// circuits returns how many circuits are in each state.
func (t *table) circuits() [NumStates]int {
	var n [NumStates]int
	now := time.Now()
	for _, v := range t.views {
		if !v.entry.record.forgotten() {
			n[v.entry.stateAt(now)]++
		}
	}
	return n
}

// stateAt returns the state at an instant: an open circuit whose time is over is half-open, whether or not the leader has said so.
func (e *entry) stateAt(now time.Time) State {
	if e.state == Open && !e.forced && !now.Before(e.until) {
		return HalfOpen
	}
	return e.state
}

// turnCounters tells the counter of circuits that have changed: what it counted before is of no account.
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
