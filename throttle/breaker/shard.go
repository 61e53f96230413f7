package breaker

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// shard is the known content of a shard of the store. It is immutable: a change replaces it.
type shard struct {
	index   int
	version store.Version
	records map[store.RecordID]*record
	readAt  time.Time               // by this process's clock
	newer   map[store.RecordID]bool // records that only a later version of this package can read
}

// lostSince reports whether a store that now has version now has lost version before: the epoch is
// another one, or the number is lower.
func lostSince(now, before store.Version) bool {
	return before != store.Version{} && (now.Epoch != before.Epoch || now.Number < before.Number)
}

// covers reports whether version v includes every write in w. Versions of different epochs are not
// comparable.
func covers(v, w store.Version) bool { return v.Epoch == w.Epoch && v.Number >= w.Number }

// readShard decodes a shard. It reports corrupt records and returns their IDs; they count as
// absent.
func (m *Manager) readShard(s store.Shard, at time.Time) (*shard, []store.RecordID) {
	read := &shard{
		index: s.Index, version: s.Version, records: make(map[store.RecordID]*record, len(s.Records)), readAt: at, newer: map[store.RecordID]bool{},
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
		read.records[stored.ID] = r
	}
	return read, corrupt
}

// edit is a change of one record: its new content, or nil to delete it, and the events to report
// after the write.
type edit struct {
	id     store.RecordID
	record *record
	events []Event
}

// with returns the shard with the edits applied.
func (s *shard) with(edits []edit, v store.Version, at time.Time) *shard {
	next := &shard{index: s.index, version: v, records: maps.Clone(s.records), readAt: at}
	if next.records == nil {
		next.records = map[store.RecordID]*record{}
	}
	for _, e := range edits {
		if e.record == nil {
			delete(next.records, e.id)
		} else {
			next.records[e.id] = e.record
		}
	}
	return next
}

// lostRecords returns edits that write lost records back, and the number of lost records that are
// too old for that. A record is too old if it was read more than MaxStale ago, unless only an
// operator can end its state.
func (s *shard) lostRecords(read *shard, c *Config) (edits []edit, gone int) {
	age := read.readAt.Sub(s.readAt)
	for id, r := range s.records {
		switch {
		case !s.misses(id, read, c.ObservabilityWindow):
		case age > c.MaxStale && !r.endsOnlyByHand():
			gone++
		default:
			edits = append(edits, edit{id: id, record: r})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return slices.Compare(a.id[:], b.id[:]) })
	return edits, gone
}

// misses reports whether the store lost record id.
//
// If the shard's version is unchanged, has another epoch or is lower, a missing or older record is
// lost. Otherwise another manager may have deleted it. But a record is kept closed for one
// ObservabilityWindow before it is deleted. So an open record that was read less than half a window
// ago cannot have been deleted.
func (s *shard) misses(id store.RecordID, read *shard, window time.Duration) bool {
	r := s.records[id]
	now, ok := read.records[id]
	switch {
	case read.newer[id]:
		return false
	case read.version == s.version, lostSince(read.version, s.version):
		return !ok || now.Generation < r.Generation
	}
	return !ok && (r.Forced || r.State != Closed) && read.readAt.Sub(s.readAt) < window/2
}
