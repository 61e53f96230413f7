package breaker

import (
	"errors"
	"time"
)

// shard is what an agent knows of a shard. It is never changed: whoever learns more puts another one in its place.
type shard struct {
	index   int
	version Version
	records map[RecordID]*record
	readAt  time.Time         // by the agent's clock
	later   map[RecordID]bool // records that only a later version of this package can read
	edition uint64            // rises with all that the agent learns of the shard, so that a table can say what it was made of
}

// lostSince reports whether the store has lost the version w: it is another life of the shard, or an earlier time of the same.
func (v Version) lostSince(w Version) bool {
	return w != Version{} && (v.Epoch != w.Epoch || v.Number < w.Number)
}

// covers reports whether who knows v of a shard knows all that who knows w does. Of two lives of a shard nobody can tell.
func (v Version) covers(w Version) bool { return v.Epoch == w.Epoch && v.Number >= w.Number }

// readShard makes sense of what was loaded. Records that make none are told of, and count as absent; the names of those
// that are to be removed are returned.
func (m *Manager) readShard(s Shard, at time.Time) (*shard, []RecordID) {
	read := &shard{
		index: s.Index, version: s.Version, records: make(map[RecordID]*record, len(s.Records)), later: map[RecordID]bool{}, readAt: at,
	}
	var corrupt []RecordID
	for _, stored := range s.Records {
		r, err := decode(stored, m.config.Name)
		if err != nil {
			if errors.Is(err, errNewerRecord) {
				read.later[stored.ID] = true
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
	id     RecordID
	record *record
	events []Event
}

// with returns the shard after the edits.
func (known *shard) with(edits []edit, v Version, at time.Time) *shard {
	next := &shard{index: known.index, version: v, records: make(map[RecordID]*record, len(known.records)+len(edits)), readAt: at}
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
