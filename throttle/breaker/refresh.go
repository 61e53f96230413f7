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
	recheckEvery  = 16 // in refreshes
	recheckShards = 16 // rechecked at once
	loadBatch     = 16 // shards of one Load

	watchRetry = time.Second
)

// errOvertaken means that shards changed in each attempt to read them.
var errOvertaken = errors.New("breaker: shards of the store change faster than they can be read")

// Refresh reads changes from the store now. Run does so regularly. When it returns nil, later calls
// are decided by what it has read, or by something newer. If the store has lost records, the
// manager keeps them and writes them back.
func (m *Manager) Refresh(ctx context.Context) error {
	if !m.valid() {
		return errNil
	}
	m.lazy.driven.Store(true)
	return m.readChanges(orBackground(ctx))
}

// readChanges is Refresh for the manager's own use.
func (m *Manager) readChanges(ctx context.Context) error {
	defer m.publishIfChanged()
	err := errOvertaken
	for i := 0; i < maxAttempts && errors.Is(err, errOvertaken); i++ {
		err = m.refresh(ctx)
	}
	if err != nil {
		m.checkStale()
	}
	return err
}

// refresh reads the shards that have changed. It takes no lock: if another goroutine stores the
// same or a newer version of a shard, that one is kept. It returns errOvertaken if versions are not
// comparable and the shards must be read again.
func (m *Manager) refresh(ctx context.Context) error {
	asked := time.Now()
	v, err := ask(ctx, m, func(ctx context.Context, _ any) (store.Versions, error) { return m.config.Store.Versions(ctx) }, nil)
	if err != nil {
		return err
	}
	// Every shard is read again once in a while, because after a failover a store may have other content
	// under the same version.
	n := int(m.refreshed.Add(1))
	again, part := n%recheckEvery == 0, n/recheckEvery%(store.NumShards/recheckShards)
	var changed []int
	for i := range m.shards {
		known := m.shards[i].Load()
		if v.Shards[i] != known.version || again && i/recheckShards == part {
			changed = append(changed, i)
			continue
		}
		same := *known
		same.readAt = asked
		m.shards[i].CompareAndSwap(known, &same)
	}
	if err := m.reload(ctx, changed); err != nil {
		return err
	}
	if last := m.lastRead.Swap(&storeReading{store: v.Now, local: asked}); last.stale {
		m.revision.Add(1)
	}
	return nil
}

// reload reads shards in batches, so that progress is kept if a large store is slow. It writes lost
// records back. It returns errOvertaken if a shard must be read again.
func (m *Manager) reload(ctx context.Context, shards []int) error {
	var overtaken error
	for some := range slices.Chunk(shards, loadBatch) {
		known := map[int]*shard{}
		for _, i := range some {
			known[i] = m.shards[i].Load()
		}
		asked := time.Now()
		loaded, err := ask(ctx, m, m.config.Store.Load, some)
		if err != nil {
			return err
		}
		for _, s := range loaded {
			before := known[s.Index]
			delete(known, s.Index)
			if before != nil && !m.mergeShard(ctx, before, s, asked) { // nil was not requested
				overtaken = errOvertaken
			}
		}
		for i := range known {
			err := fmt.Errorf("breaker: the store did not return shard %d", i)
			m.fail(StoreFailed, err)
			return err
		}
	}
	return overtaken
}

// mergeShard replaces a shard by what was read, together with the records that the store has lost.
// If these cannot be written back, the known shard is kept: the store may be a read-only replica.
// It returns false if the shard must be read again.
func (m *Manager) mergeShard(ctx context.Context, known *shard, loaded store.Shard, asked time.Time) bool {
	read, corrupt := m.readShard(loaded, asked)
	edits, gone := known.lostRecords(read, &m.config)
	if len(edits)+gone > 0 {
		m.fail(RecordsLost, fmt.Errorf("breaker: the store lost records of shard %d: writing %d back, %d are too old", known.index, len(edits), gone))
	}
	lost := len(edits) > 0
	b := store.Batch{Shard: read.index, Expect: read.version}
	for _, id := range corrupt {
		if !slices.ContainsFunc(edits, func(e edit) bool { return e.key.RecordID() == id }) {
			b.Changes = append(b.Changes, store.Change{ID: id})
		}
	}
	if len(edits)+len(b.Changes) > 0 {
		v, err := m.apply(ctx, b, edits)
		switch {
		case err == nil:
			read = read.with(edits, v, read.readAt)
		case lost:
			return !errors.Is(err, store.ErrConflict)
		}
	}
	return m.setShard(known, read)
}

// setShard replaces a shard, unless another goroutine has stored the same or a newer version. It
// returns false if the versions are not comparable.
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
		if place.CompareAndSwap(last, next) {
			m.revision.Add(1)
			return true
		}
	}
}

// refreshLoop refreshes at intervals and after a hint of the store.
func (m *Manager) refreshLoop(ctx context.Context) {
	for ctx.Err() == nil {
		start := time.Now()
		_ = m.readChanges(ctx) // reported
		m.prefetch()
		d := m.config.Refresh // with a jitter of 10 %; a hint makes it earlier, at most twenty times as often
		if left := d - d/10 + rand.N(d/5+1) - time.Since(start); left > 0 {
			wait(ctx, left, m.refreshWake)
			sleep(ctx, d/20-time.Since(start))
		}
	}
}

var errWatchReturned = errors.New("breaker: Watch of the store returned without an error")

// watchLoop passes hints of the store to refreshLoop, if the store is a [store.Watcher].
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

// storeReading is the time of the last reading, by the store's clock and by this process's.
type storeReading struct {
	store, local time.Time // zero before the first reading
	stale        bool      // longer ago than MaxStale
}

// storeNow returns the estimated time of the store's clock. It is compared only with times from the
// store.
func (m *Manager) storeNow() time.Time {
	r := m.lastRead.Load()
	if r.local.IsZero() {
		return time.Now()
	}
	return r.store.Add(time.Since(r.local))
}

// checkStale notices that the last reading is too old.
func (m *Manager) checkStale() {
	last := m.lastRead.Load()
	switch {
	case last.stale, last.local.IsZero(): // nothing to be stale before the first reading
	case time.Since(last.local) <= m.config.MaxStale, m.makesLazyRounds(): // a memory store is always available
	case m.lastRead.CompareAndSwap(last, &storeReading{store: last.store, local: last.local, stale: true}): // unless a reading came in between
		m.revision.Add(1)
	}
}
