package breaker

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

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
