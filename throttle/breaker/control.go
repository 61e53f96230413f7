package breaker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// ForceOpen opens a circuit for the whole fleet until [Manager.Enable], [Manager.ForceClose] or
// [Manager.Forget]. When it returns nil, the store has the change and this manager applies it.
// Other managers apply it at their next refresh. In ModeShadow and ModeOff calls still pass.
func (m *Manager) ForceOpen(ctx context.Context, k Key) error { return m.force(ctx, k, Open, true) }

// ForceClose closes a circuit until [Manager.Enable], [Manager.ForceOpen] or [Manager.Forget],
// whatever the results of its calls.
func (m *Manager) ForceClose(ctx context.Context, k Key) error { return m.force(ctx, k, Closed, true) }

// Disable disables a circuit, as too many trips do, until [Manager.Enable] or [Manager.Forget].
func (m *Manager) Disable(ctx context.Context, k Key) error { return m.force(ctx, k, Disabled, false) }

// Enable closes a disabled, open or forced circuit and forgets its trips and earlier results. From
// then on, calls decide its state again.
func (m *Manager) Enable(ctx context.Context, k Key) error { return m.force(ctx, k, Closed, false) }

// force sets the state of a circuit.
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
			return nil // forced or released; the state itself has not changed
		}
		return moved.events
	})
}

// Forget removes a circuit, with its trips and its pending notifications. Use it for an endpoint
// that no longer exists. If calls go on, the circuit starts again as a new one. The store keeps a
// record that the circuit was forgotten for one ObservabilityWindow.
func (m *Manager) Forget(ctx context.Context, k Key) error {
	return m.change(ctx, k, func(id store.RecordID, r *record, now time.Time) []edit {
		if r == nil || r.forgotten() && len(r.pending) == 0 {
			return nil
		}
		return []edit{{id: id, record: r.forget(now)}}
	})
}

// control changes a circuit's record, which may be a new one.
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

// change changes one record. It passes the newest known record to decide.
func (m *Manager) change(ctx context.Context, k Key, decide func(id store.RecordID, known *record, now time.Time) []edit) error {
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
	err := m.update(ctx, id.Shard(), 0, func(s *shard) []edit { return decide(id, s.records[id], m.storeNow()) })
	m.publish()
	return err
}

// List returns all circuits that are not closed or have a past, sorted by key. It does not read the
// store. If the store is stale and Config.OnStale is not KeepLast, the list is empty.
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

// Status returns the state of a circuit, as this manager has read it. It does not read the store. An unknown
// circuit is closed.
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
