package breaker

import (
	"errors"
	"fmt"
	"slices"
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

func errRecordsLost(s *shard, back, gone int) error {
	return fmt.Errorf("breaker: the store has lost records of shard %d: %d are given back, %d are known from too long ago", s.index, back, gone)
}

// lost returns the records that were known and that the store has lost, and how many there are of which nothing is given back. What was read
// too long ago may have ended since, but for what ends by hand only.
func (known *shard) lostRecords(read *shard, c *Config) (edits []edit, gone int) {
	age := read.readAt.Sub(known.readAt)
	for id, r := range known.records {
		switch {
		case !known.misses(id, read, c.ObservabilityWindow):
		case age > c.MaxStale && !r.endsOnlyByHand():
			gone++
		default:
			edits = append(edits, edit{id: id, record: r})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return slices.Compare(a.id[:], b.id[:]) })
	return edits, gone
}

// misses reports whether the store has lost a record. If nobody has written since it was known, or if the shard is another one or back at
// an earlier time, that is so whenever it is not there as new as it was. If somebody has written, it may have been removed: but all that ever is has
// lain there as a closed one for an ObservabilityWindow before, so that whoever has read within half of that can tell.
func (known *shard) misses(id store.RecordID, read *shard, window time.Duration) bool {
	r := known.records[id]
	now, ok := read.records[id]
	switch {
	case read.newer[id]:
		return false
	case read.version == known.version, lostSince(read.version, known.version):
		return !ok || now.generation < r.generation
	}
	return !ok && (r.forced || r.state != Closed) && read.readAt.Sub(known.readAt) < window/2
}

// endsByHand reports whether nothing but a hand ends the state that the circuit is in.
func (r *record) endsOnlyByHand() bool { return r.forced || r.state == Disabled }
