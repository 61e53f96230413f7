package breaker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

const (
	maxAttempts    = 10   // of a change, which is decided and written again after a conflict
	maxStoreCalls  = 1024 // in flight, abandoned ones included
	failuresToRest = 3    // store calls in a row that fail before a pause
)

// shard is the known content of a shard of the store. It is immutable: a change replaces it.
type shard struct {
	index   int
	version store.Version
	records map[Key]*record
	readAt  time.Time               // by this process's clock
	newer   map[store.RecordID]bool // records that only a later version of this package can read
}

// covers reports whether version v includes every write in w. Versions of different epochs are not
// comparable.
func covers(v, w store.Version) bool { return v.Epoch == w.Epoch && v.Number >= w.Number }

// readShard decodes a shard. It reports corrupt records and returns their IDs; they count as
// absent.
func (m *Manager) readShard(s store.Shard, at time.Time) (*shard, []store.RecordID) {
	read := &shard{
		index: s.Index, version: s.Version, records: make(map[Key]*record, len(s.Records)), readAt: at, newer: map[store.RecordID]bool{},
	}
	var corrupt []store.RecordID
	for _, stored := range s.Records {
		r, err := decode(stored, m.config.Name)
		if err != nil {
			if errors.Is(err, errNewerRecord) {
				read.newer[stored.ID] = true
			} else {
				corrupt = append(corrupt, stored.ID)
			}
			m.fail(RecordCorrupt, err)
			continue
		}
		read.records[r.Key] = r
	}
	return read, corrupt
}

// edit is a change of one record: its new content, or nil to delete it, and the events to report
// after the write.
type edit struct {
	key    Key
	record *record
	events []Event
}

func (s *shard) with(edits []edit, v store.Version, at time.Time) *shard {
	next := &shard{index: s.index, version: v, records: maps.Clone(s.records), readAt: at}
	for _, e := range edits {
		if e.record == nil {
			delete(next.records, e.key)
		} else {
			next.records[e.key] = e.record
		}
	}
	return next
}

// lostRecords returns edits that write lost records back, and the number of lost records that are
// too old for that. A record is too old if it was read more than MaxStale ago, unless only an
// operator can end its state.
func (s *shard) lostRecords(read *shard, c *Config) (edits []edit, gone int) {
	age := read.readAt.Sub(s.readAt)
	for k, r := range s.records {
		switch {
		case !s.misses(k, read, c.ObservabilityWindow):
		case age > c.MaxStale && !r.endsOnlyByHand():
			gone++
		default:
			edits = append(edits, edit{key: k, record: r})
		}
	}
	return edits, gone
}

// misses reports whether the store lost the record of a key.
//
// If the shard's version is unchanged, has another epoch or is lower, a missing or older record is
// lost. Otherwise another manager may have deleted it. But a record is kept closed for one
// ObservabilityWindow before it is deleted. So an open record that was read less than half a window
// ago cannot have been deleted.
func (s *shard) misses(k Key, read *shard, window time.Duration) bool {
	r, now := s.records[k], read.records[k]
	switch {
	case now == nil && read.newer[k.RecordID()]:
		return false
	case read.version == s.version, !covers(read.version, s.version):
		return now == nil || now.Generation < r.Generation
	}
	return now == nil && (r.Forced || r.State != Closed) && read.readAt.Sub(s.readAt) < window/2
}

// update changes one shard. It calls decide with the known shard, writes the returned edits and
// reports them. After a conflict it reads the shard and repeats. decide must not change its
// argument.
func (m *Manager) update(ctx context.Context, index int, term uint64, decide func(*shard) []edit) error {
	var err error
	for range maxAttempts {
		known := m.shards[index].Load()
		edits := decide(known)
		if len(edits) == 0 {
			return nil
		}
		for _, e := range edits {
			m.addPending(e)
		}
		var v store.Version
		v, err = m.apply(ctx, store.Batch{Shard: index, Term: term, Expect: known.version}, edits)
		if err == nil {
			m.setShard(known, known.with(edits, v, time.Now()))
			m.reportEdits(edits)
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := m.reload(ctx, []int{index}); err != nil && !errors.Is(err, errOvertaken) {
			return err
		}
		m.publishIfChanged()
	}
	return err
}

func (m *Manager) apply(ctx context.Context, b store.Batch, edits []edit) (store.Version, error) {
	for _, e := range edits {
		change := store.Change{ID: e.key.RecordID()}
		if e.record != nil {
			data, err := e.record.encode()
			if err != nil {
				return store.Version{}, fmt.Errorf("breaker: record of %s: %w", shownKey(e.record.Key), err)
			}
			change.Data = data
		}
		b.Changes = append(b.Changes, change)
	}
	v, err := ask(ctx, m, m.config.Store.Apply, b)
	switch {
	case errors.Is(err, store.ErrConflict):
		m.fail(WriteConflicted, err)
	case errors.Is(err, store.ErrFenced):
		m.fail(WriteFenced, err)
	}
	return v, err
}

func (m *Manager) reportEdits(edits []edit) {
	for _, e := range edits {
		for _, event := range e.events {
			m.counters.changes[event.To].Add(1)
			if h := m.config.Hooks.Changed; h != nil {
				m.callHook(func() { h(event) })
			}
		}
	}
	if m.config.Notify != nil {
		signal(m.notifyWake)
	}
}

// judgeStore reports err to Hooks.Failed if the store failed. ErrConflict and ErrFenced are normal
// answers.
func (m *Manager) judgeStore(err error) remote.Verdict {
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrFenced) {
		return remote.Answered
	}
	m.fail(StoreFailed, err)
	return remote.Failed
}

// ask calls a method of the store. It does not wait for longer than StoreTimeout: see [remote.Guard]. A
// [MemoryStore] answers at once, so it is called without a goroutine.
func ask[A, T any](ctx context.Context, m *Manager, method func(context.Context, A) (T, error), argument A) (T, error) {
	if m.memory != nil {
		return method(ctx, argument)
	}
	return remote.Ask(ctx, m.guard, func(ctx context.Context) (T, error) { return method(ctx, argument) }, nil)
}
