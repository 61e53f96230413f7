package breaker

import (
	"context"
	"maps"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// table holds the circuits that are not closed or have a past, and decides about calls. A circuit
// that is not in the table is closed. A table is immutable: a change replaces it.
type table struct {
	revision uint64 // of the manager, before the table was built
	stale    bool
	entries  map[Key]*entry
	none     entry          // of circuits that are not in entries
	hidden   map[Key]uint64 // generations of circuits with a record that are not in entries, because of their Mode or stale
}

type entry struct {
	*record
	table      *table
	settings   *Config
	admitsAll  bool
	probes     *probes    // while open or half-open
	shedErr    *ShedError // its until is the end of the open state
	noProbeErr *ShedError // while half-open, if there is no probe
}

func (m *Manager) lookup(k Key) *entry {
	t := m.table.Load()
	if e, ok := t.entries[k]; ok {
		return e
	}
	return &t.none
}

// admit decides about a call. It returns the circuit's state, and an error if the call is shed.
func (m *Manager) admit(ctx context.Context, k Key, e *entry) (State, error) {
	m.wantRound()
	if e.admitsAll { // the usual case
		m.count(Closed, admitted)
		return Closed, nil
	}
	state, refusal := m.evaluate(k, e)
	if refusal == nil {
		m.count(state, admitted)
		return state, nil
	}
	shadow := e.settings.Mode == throttle.ModeShadow
	column := shed
	if shadow {
		column = shadowShed
	}
	m.count(state, column)
	if h := m.config.Hooks.Shed; h != nil {
		h(orBackground(ctx), ShedEvent{Manager: m, Key: k, State: state, Shadow: shadow})
	}
	if shadow {
		return state, nil
	}
	return state, refusal
}

// evaluate returns the circuit's state, and an error if it sheds the call.
func (m *Manager) evaluate(k Key, e *entry) (State, *ShedError) {
	switch {
	case e == &e.table.none:
		return Closed, &ShedError{Breaker: m.config.Name, Key: k, State: Closed, Reason: ErrStale}
	case e.State == Disabled, e.Forced:
		return e.State, e.shedErr
	}
	now := time.Now()
	if e.State == Open && now.Before(e.shedErr.until) {
		e.probes.demanded.Store(true)
		return Open, e.shedErr
	}
	if e.table.stale || e.probes.take(now) { // without the store, probes cannot be counted
		return HalfOpen, nil
	}
	e.probes.demanded.Store(true)
	switch {
	case !m.requestProbe(e, now), m.running.Load():
	case !m.makesLazyRounds():
		go m.askForProbes(context.Background())
	default:
		m.askForProbes(m.open)
		if e.probes.take(now) {
			return HalfOpen, nil
		}
	}
	return HalfOpen, e.noProbeErr
}

// publish replaces the table with one of what is known now. It may run concurrently: each goroutine
// builds its table after it has loaded the one that it replaces. So no table is older than its
// predecessor.
func (m *Manager) publish() {
	for {
		last := m.table.Load()
		next, changed := m.build(last)
		if !m.table.CompareAndSwap(last, next) {
			continue
		}
		for _, k := range changed {
			if c := m.config.Counter; c != nil {
				c.reset(k)
			}
		}
		return
	}
}

// publishIfChanged publishes a table if anything has changed. With ForTenant it always does,
// because settings may have changed.
func (m *Manager) publishIfChanged() {
	if m.config.ForTenant != nil || m.table.Load().revision != m.revision.Load() {
		m.publish()
	}
}

// build returns a table of what is known, and the circuits that have changed since the last one.
func (m *Manager) build(last *table) (t *table, changed []Key) {
	t = &table{revision: m.revision.Load(), entries: map[Key]*entry{}} // the revision first: what follows may be newer
	t.stale = m.lastRead.Load().stale
	tenants := m.tenants()
	t.none = entry{record: &record{}, table: t, settings: tenants.own, admitsAll: true}
	if t.stale && m.config.OnStale != KeepLast {
		t.none.admitsAll = m.config.OnStale == FailOpen || tenants.own.Mode == throttle.ModeOff
		t.hidden = last.generations()
		return t, nil
	}
	t.hidden = map[Key]uint64{}
	now, storeNow := time.Now(), m.storeNow()
	for i := range m.shards {
		for _, r := range m.shards[i].Load().records {
			settings := tenants.settings(r.Key.Tenant)
			before := last.entries[r.Key]
			known := before != nil && before.Generation == r.Generation || before == nil && last.hidden[r.Key] == r.Generation
			if settings.Mode == throttle.ModeOff || r.Shadow && settings.Mode == throttle.ModeEnforce {
				if t.hidden[r.Key] = r.Generation; !known {
					changed = append(changed, r.Key)
				}
				continue
			}
			e := newEntry(r, settings, now.Add(min(r.openUntil.Sub(storeNow), settings.MaxBreakerTimeout)))
			e.table = t
			if !known || before == nil && r.State != Closed { // calls that passed while it was hidden are no probes
				changed = append(changed, r.Key)
			} else if before != nil && before.probes != nil {
				e.probes = before.probes
			}
			t.entries[r.Key] = e
		}
	}
	return t, changed
}

// generations returns the generations of all circuits with a record.
func (t *table) generations() map[Key]uint64 {
	if t.stale {
		return t.hidden
	}
	all := maps.Clone(t.hidden)
	for k, e := range t.entries {
		all[k] = e.Generation
	}
	return all
}

func newEntry(r *record, settings *Config, until time.Time) *entry {
	e := &entry{record: r, settings: settings, admitsAll: r.State == Closed}
	e.shedErr = &ShedError{Breaker: settings.Name, Key: r.Key, State: r.State, Reason: ErrOpen}
	switch {
	case r.State == Disabled:
		e.shedErr.Reason = ErrDisabled
	case r.State == Open && !r.Forced:
		e.shedErr.until = until
	}
	if r.State == HalfOpen || r.State == Open {
		e.probes = &probes{}
		e.noProbeErr = &ShedError{Breaker: settings.Name, Key: r.Key, State: HalfOpen, Reason: ErrTooManyRequests}
	}
	return e
}

// stateAt returns the state at an instant. An open circuit whose timeout has ended is half-open,
// even if the leader has not recorded that yet.
func (e *entry) stateAt(now time.Time) State {
	if e.State == Open && !e.Forced && !now.Before(e.shedErr.until) {
		return HalfOpen
	}
	return e.State
}

func (e *entry) status(now time.Time) Status {
	s := e.Status
	s.State, s.Shadow = e.stateAt(now), e.settings.Mode == throttle.ModeShadow
	if s.State == Open && !e.Forced {
		s.RetryAfter = e.shedErr.until.Sub(now)
	}
	return s
}
