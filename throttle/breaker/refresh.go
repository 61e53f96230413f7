package breaker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	recheckEvery  = 16 // refreshes
	recheckShards = 16 // at once
	loadBatch     = 16 // of one question

	watchRetry = time.Second
)

// errOvertaken is the error of a refresh whose answers were overtaken again and again.
var errOvertaken = errors.New("breaker: the store's shards change faster than they can be read")

// Refresh reads what has changed in the store, now. Run does so by itself. When it returns nil, all calls that begin then are decided by
// what it has read, or by something newer. What the store has lost, and does not take back yet, is known still.
func (m *Manager) Refresh(ctx context.Context) error {
	if !m.valid() {
		return errNil
	}
	m.lazy.driven.Store(true)
	return m.readChanges(orBackground(ctx))
}

// readChanges is Refresh, for the manager itself.
func (m *Manager) readChanges(ctx context.Context) error {
	defer m.publishIfChanged()
	for range maxAttempts {
		if done, err := m.refresh(ctx); done || err != nil {
			return err
		}
	}
	return errOvertaken
}

// refresh reads the shards that have changed. Nothing is locked: a shard that somebody else has put in place meanwhile
// stays if it is as new. It reports false if that cannot be told, and everything is to be read again.
func (m *Manager) refresh(ctx context.Context) (done bool, err error) {
	var before [store.NumShards]*shard
	for i := range before {
		before[i] = m.shards[i].Load()
	}
	asked := time.Now()
	v, err := callStore(ctx, m.store, func(ctx context.Context, s store.Store) (store.Versions, error) { return s.Versions(ctx) })
	if err != nil {
		return false, err
	}
	var changed []int
	again := m.recheck()
	for i, known := range before {
		if v.Shards[i] != known.version || again(i) {
			changed = append(changed, i)
		} else {
			m.markRead(i, known, asked)
		}
	}
	if done, err := m.reload(ctx, changed, before[:]); !done || err != nil {
		return false, err
	}
	m.recordRead(v.Now, asked)
	return true, nil
}

// reread says which shards are to be read though they seem to be known. Once in a while each is, because a fail-over can make other
// content of the same version.
func (m *Manager) recheck() func(shard int) bool {
	n := int(m.refreshed.Add(1))
	if n%recheckEvery != 0 {
		return func(int) bool { return false }
	}
	turn := n / recheckEvery % (store.NumShards / recheckShards)
	return func(shard int) bool { return shard/recheckShards == turn }
}

// confirm notes that a shard is still what it was.
func (m *Manager) markRead(i int, known *shard, at time.Time) {
	same := *known
	same.readAt = at
	m.shards[i].CompareAndSwap(known, &same)
}

// reload reads shards, some at a time so that a large store gets done in the end, and gives back to the store what it has lost of them.
// It reports whether what was read is known now, or something newer.
func (m *Manager) reload(ctx context.Context, shards []int, before []*shard) (done bool, err error) {
	done = true
	for some := range slices.Chunk(shards, loadBatch) {
		well, err := m.reloadChunk(ctx, some, before)
		if err != nil {
			return false, err
		}
		done = done && well
	}
	return done, nil
}

func (m *Manager) reloadChunk(ctx context.Context, shards []int, before []*shard) (done bool, err error) {
	asked := time.Now()
	loaded, err := callStore(ctx, m.store, func(ctx context.Context, s store.Store) ([]store.Shard, error) { return s.Load(ctx, shards) })
	if err != nil {
		return false, err
	}
	if err := checkLoaded(loaded, shards); err != nil {
		m.fail(StoreFailed, err)
		return false, err
	}
	done = true
	for _, s := range loaded {
		if !slices.Contains(shards, s.Index) {
			continue // a store that answers what nobody asked
		}
		read, corrupt := m.readShard(s, asked)
		done = m.mergeShard(ctx, before[s.Index], read, corrupt) && done
	}
	return done, nil
}

// loadedAll returns an error if the store has left out what it was asked for: nobody could go by it.
func checkLoaded(loaded []store.Shard, asked []int) error {
	for _, i := range asked {
		if !slices.ContainsFunc(loaded, func(s store.Shard) bool { return s.Index == i }) {
			return fmt.Errorf("breaker: the store was asked for shard %d and has not loaded it", i)
		}
	}
	return nil
}

// adopt puts what was read in the place of what was known, with what the store has lost. As long as that cannot be given back, what
// was known stands: the store may be a replica that cannot be written yet. It reports false if the shard has to be read again.
func (m *Manager) mergeShard(ctx context.Context, known, read *shard, corrupt []store.RecordID) bool {
	edits, gone := known.lostRecords(read, &m.config)
	if len(edits)+gone > 0 {
		m.fail(RecordsLost, errRecordsLost(known, len(edits), gone))
	}
	lost := len(edits) > 0
	for _, id := range corrupt {
		if !contains(edits, id) {
			edits = append(edits, edit{id: id})
		}
	}
	if len(edits) > 0 {
		v, err := m.apply(ctx, store.Batch{Shard: read.index, Expect: read.version}, edits)
		switch {
		case err == nil:
			read = read.with(edits, v, read.readAt)
		case lost:
			return !errors.Is(err, store.ErrConflict)
		}
	}
	return m.setShard(known, read)
}

// learn puts a shard in the place of the one that was known, unless somebody else has learned as much meanwhile. It reports false if
// nobody can tell which of the two is newer.
func (m *Manager) setShard(known, next *shard) bool {
	place := &m.shards[next.index]
	for {
		last := place.Load()
		if last != known && last.version != known.version {
			if covers(last.version, next.version) {
				return true
			}
			if !covers(next.version, last.version) {
				return false
			}
		}
		next.revision = last.revision + 1
		if place.CompareAndSwap(last, next) {
			return true
		}
	}
}

func contains(edits []edit, id store.RecordID) bool {
	for i := range edits {
		if edits[i].id == id {
			return true
		}
	}
	return false
}

// keepFresh refreshes at intervals, and when the store tells of a change. It is also what notices that nothing was heard for
// too long.
func (m *Manager) refreshLoop(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		if err := m.readChanges(ctx); err != nil {
			m.checkStale()
		}
		m.prober.prefetch(m.table.Load())
		m.waitRefresh(ctx, begun)
	}
}

// awaitRefresh waits for the next refresh, with a jitter of a tenth. A change makes it earlier, but never more often than twenty times as often.
func (m *Manager) waitRefresh(ctx context.Context, begun time.Time) {
	d := m.config.Refresh
	left := d - d/10 + rand.N(d/5+1) - time.Since(begun)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-m.refreshWake:
		sleep(ctx, d/20-time.Since(begun))
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errWatchReturned = errors.New("breaker: the store's Watch has ended without an error")

// keepWatching passes the store's hints on, if it has any.
func (m *Manager) watchLoop(ctx context.Context) {
	w, ok := m.config.Store.(store.Watcher)
	for ok && ctx.Err() == nil {
		_, err := remote.Await(ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, w.Watch(ctx, func() { signal(m.refreshWake) })
		}, nil)
		if ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err == nil {
			err = errWatchReturned
		}
		m.fail(StoreFailed, err)
		sleep(ctx, watchRetry)
	}
}

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
