package breaker

import (
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// shard is what an agent knows of a shard. It is never changed: whoever learns more puts another one in its place.
type shard struct {
	index    int
	version  store.Version
	records  map[store.RecordID]*record
	readAt   time.Time               // by the agent's clock
	newer    map[store.RecordID]bool // records that only a later version of this package can read
	revision uint64                  // rises with all that the agent learns of the shard, so that a table can say what it was made of
}

// lostSince reports whether a store that now has version now has lost version before: the epoch is
// another one, or the number is lower.
func lostSince(now, before store.Version) bool {
	return before != store.Version{} && (now.Epoch != before.Epoch || now.Number < before.Number)
}

// covers reports whether version v includes every write in w. Versions of different epochs are not
// comparable.
func covers(v, w store.Version) bool { return v.Epoch == w.Epoch && v.Number >= w.Number }

// readShard makes sense of what was loaded. Records that make none are told of, and count as absent; the names of those
// that are to be removed are returned.
func (m *Manager) readShard(s store.Shard, at time.Time) (*shard, []store.RecordID) {
	read := &shard{
		index: s.Index, version: s.Version, records: make(map[store.RecordID]*record, len(s.Records)), newer: map[store.RecordID]bool{}, readAt: at,
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

// edit is a change of one record: what it becomes, nil for its end, and what is told of it when the store has it.
type edit struct {
	id     store.RecordID
	record *record
	events []Event
}

// with returns the shard after the edits.
func (known *shard) with(edits []edit, v store.Version, at time.Time) *shard {
	next := &shard{index: known.index, version: v, records: make(map[store.RecordID]*record, len(known.records)+len(edits)), readAt: at}
	for id, r := range known.records {
		next.records[id] = r
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
