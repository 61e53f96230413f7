package breaker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// ForceOpen opens a circuit by hand, for the whole fleet, until [Manager.Enable], [Manager.ForceClose] or [Manager.Forget]. When it
// returns nil the store has it and this agent goes by it; the others follow with their next refresh.
func (m *Manager) ForceOpen(ctx context.Context, k Key) error { return m.force(ctx, k, Open, true) }

// ForceClose closes a circuit by hand, whatever its calls do, until [Manager.Enable], [Manager.ForceOpen] or [Manager.Forget].
func (m *Manager) ForceClose(ctx context.Context, k Key) error { return m.force(ctx, k, Closed, true) }

// Disable disables a circuit by hand, as too many trips do, until [Manager.Enable] or [Manager.Forget].
func (m *Manager) Disable(ctx context.Context, k Key) error { return m.force(ctx, k, Disabled, false) }

// Enable closes a circuit that is disabled, open or forced, and forgets its trips and what its calls did before. It goes on by itself
// from there.
func (m *Manager) Enable(ctx context.Context, k Key) error { return m.force(ctx, k, Closed, false) }

// force puts a circuit into a state.
func (m *Manager) force(ctx context.Context, k Key, to State, forced bool) error {
	if !m.valid() {
		return errNil
	}
	settings := m.tenants().settings(k.Tenant)
	return m.control(ctx, k, func(r *record, now time.Time) []Event {
		if r.state == to && r.forced == forced && (to != Closed || forced || r.trips == 0) {
			return nil
		}
		from := r.state
		r.generation++
		r.forced, r.countSince = forced, now
		if to == Closed {
			r.trips = 0
		}
		r.openUntil = time.Time{}
		moved := machine{settings: settings, now: now, record: *r}
		moved.moveTo(to, ReasonByHand)
		*r = moved.record
		if from == to {
			return nil // it is held now, or let go: nothing for those who wait for a change of state
		}
		return moved.events
	})
}

// Forget removes a circuit whose endpoint is gone, with its past and what was to be notified of it. If calls go on, it
// begins anew. Until Config.ObservabilityWindow is over and a leader has cleared up, the store has a record that says that it is forgotten.
func (m *Manager) Forget(ctx context.Context, k Key) error {
	return m.change(ctx, k, func(id store.RecordID, r *record, now time.Time) []edit {
		if r == nil || r.forgotten() && len(r.pending) == 0 {
			return nil
		}
		return []edit{{id: id, record: r.forget(now)}}
	})
}

// control changes a record by hand: one that there is, or the one of a circuit that is closed and has no past.
func (m *Manager) control(ctx context.Context, k Key, move func(*record, time.Time) []Event) error {
	return m.change(ctx, k, func(id store.RecordID, known *record, now time.Time) []edit {
		next := &record{key: k, changedAt: now}
		if known != nil {
			*next = *known
		}
		before := next.generation
		events := move(next, now)
		if next.generation == before {
			return nil
		}
		m.addPending(next, events)
		return []edit{{id: id, record: next, events: events}}
	})
}

// change changes one record, given the newest that there is.
func (m *Manager) change(ctx context.Context, k Key, think func(id store.RecordID, known *record, now time.Time) []edit) error {
	if !m.valid() {
		return errNil
	}
	ctx = orBackground(ctx)
	if m.isClosed() {
		return ErrManagerClosed
	}
	if err := m.readChanges(ctx); err != nil {
		return err
	}
	id := k.RecordID()
	err := m.update(ctx, id.Shard(), 0, func(s *shard) []edit { return think(id, s.records[id], m.storeNow()) })
	m.publish()
	return err
}

// List returns what this agent knows of all circuits that are not closed, or have a past, in the order of their keys. It asks nobody.
// While nothing was heard for longer than Config.MaxStale, and OnStale is not KeepLast, it knows of none.
func (m *Manager) List() []Status {
	if !m.valid() {
		return nil
	}
	t := m.table.Load()
	now := time.Now()
	list := make([]Status, 0, len(t.views))
	for _, v := range t.views {
		if !v.entry.record.forgotten() {
			list = append(list, v.entry.status(now))
		}
	}
	slices.SortFunc(list, func(a, b Status) int {
		if c := strings.Compare(a.Key.Tenant, b.Key.Tenant); c != 0 {
			return c
		}
		return strings.Compare(a.Key.ID, b.Key.ID)
	})
	return list
}

// Status returns what this agent knows of one circuit. It asks nobody. A circuit that nothing is known of is closed.
func (m *Manager) Status(k Key) Status {
	if !m.valid() {
		return Status{Key: k}
	}
	if e := m.lookup(k).entry; e != nil && e.record != nil && !e.record.forgotten() {
		return e.status(time.Now())
	}
	return Status{Key: k}
}

func (e *entry) status(now time.Time) Status {
	s := Status{
		Key: e.key, State: e.stateAt(now), Reason: e.record.reason, Forced: e.forced, Trips: e.record.trips, Generation: e.generation,
		ChangedAt: e.record.changedAt, Failures: e.record.failures, Successes: e.record.successes, Shadow: e.shadow,
	}
	if s.State == Open && !e.forced {
		s.RetryAfter = e.until.Sub(now)
	}
	return s
}
