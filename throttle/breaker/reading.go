package breaker

import "time"

// reading is when the store was read last, as an instant by its clock and by the agent's.
type storeReading struct {
	store, local time.Time // zero before the first
	stale        bool      // that was too long ago
	staleChanges uint64    // rises whenever stale turns, so that a table can say what it was made of
}

// storeNow returns the store's time, as far as the agent knows. Only what the store says is ever compared with it.
func (m *Manager) storeNow() time.Time {
	r := m.lastRead.Load()
	if r.local.IsZero() {
		return time.Now()
	}
	return r.store.Add(time.Since(r.local))
}

// heard notes that the store was read.
func (m *Manager) recordRead(store, local time.Time) {
	for {
		last := m.lastRead.Load()
		next := &storeReading{store: store, local: local, staleChanges: last.staleChanges}
		if last.stale {
			next.staleChanges++
		}
		if m.lastRead.CompareAndSwap(last, next) {
			return
		}
	}
}

// noticeStale publishes that nothing was heard for too long, once.
func (m *Manager) checkStale() {
	if m.makesLazyRounds() {
		return // a store in memory is never away; there were no calls, and so no rounds
	}
	last := m.lastRead.Load()
	if last.stale || last.local.IsZero() || time.Since(last.local) <= m.config.MaxStale {
		return // before the first reading there is nothing that could be too old
	}
	stale := *last
	stale.stale = true
	stale.staleChanges++
	if m.lastRead.CompareAndSwap(last, &stale) { // unless something was heard just now
		m.publish()
	}
}

// snapshotAge returns how long ago the store was read, -1 if it never was.
func (m *Manager) snapshotAge() time.Duration {
	r := m.lastRead.Load()
	if r.local.IsZero() {
		return -1
	}
	return time.Since(r.local)
}
