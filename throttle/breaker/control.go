package breaker

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
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

// force sets the state of a circuit, whose record may be a new one.
func (m *Manager) force(ctx context.Context, k Key, to State, forced bool) error {
	return m.change(ctx, k, func(r *record, now time.Time) (*record, []Event) {
		if r == nil {
			r = &record{Status: Status{Key: k, ChangedAt: now}}
		}
		if r.State == to && r.Forced == forced && !r.Shadow && (to != Closed || forced || r.Trips == 0) {
			return nil, nil
		}
		moved := machine{record: *r, settings: m.tenants().settings(k.Tenant), now: now}
		moved.Generation++
		moved.Forced, moved.countSince, moved.openUntil = forced, now, time.Time{}
		if to == Closed {
			moved.Trips = 0
		}
		moved.moveTo(to, ReasonByHand)
		if r.State == to {
			moved.events = nil // forced or released; the state itself has not changed
		}
		return &moved.record, moved.events
	})
}

// Forget removes a circuit, with its trips and its pending notifications. Use it for an endpoint
// that no longer exists. If calls go on, the circuit starts again as a new one. The store keeps a
// record that the circuit was forgotten for one ObservabilityWindow.
func (m *Manager) Forget(ctx context.Context, k Key) error {
	return m.change(ctx, k, func(r *record, now time.Time) (*record, []Event) {
		if r == nil || r.forgotten() && len(r.pending) == 0 {
			return nil, nil
		}
		return r.tombstone(now), nil
	})
}

// change changes one record. It passes the newest known record, or nil, to decide, which returns the
// new one, or nil for no change.
func (m *Manager) change(ctx context.Context, k Key, decide func(known *record, now time.Time) (*record, []Event)) error {
	ctx, err := m.usable(ctx)
	if err != nil {
		return err
	}
	if err := m.readChanges(ctx); err != nil {
		return err
	}
	err = m.update(ctx, k.RecordID().Shard(), 0, func(s *shard) []edit {
		next, events := decide(s.records[k], m.storeNow())
		if next == nil {
			return nil
		}
		return []edit{{key: k, record: next, events: events}}
	})
	m.publish()
	if m.config.Notify != nil && m.makesLazyRounds() { // there may be no call that starts a round, which notifies
		m.lazy.wanted.Store(true)
		m.wantRound()
	}
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
	list := make([]Status, 0, len(t.entries))
	for _, e := range t.entries {
		if !e.forgotten() {
			list = append(list, e.status(now))
		}
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(strings.Compare(a.Key.Tenant, b.Key.Tenant), strings.Compare(a.Key.ID, b.Key.ID))
	})
	return list
}

// Status returns the state of a circuit, as this manager has read it. It does not read the store. An unknown
// circuit is closed.
func (m *Manager) Status(k Key) Status {
	if m.valid() {
		if e := m.table.Load().entries[k]; e != nil && !e.forgotten() {
			return e.status(time.Now())
		}
	}
	return Status{Key: k}
}
