package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"
)

// NumShards is the number of shards of a store. After a change, a manager reads one shard again
// and not all records.
const NumShards = 64

// Errors of [Store.Apply]. The store has written nothing.
var (
	// ErrConflict means that the shard's version is not Batch.Expect. The manager reads the shard
	// again and repeats its decision.
	ErrConflict = errors.New("breaker: the shard has changed since it was read")
	// ErrFenced means that a batch with a higher term was applied to the shard before: the writer
	// is no longer the leader.
	ErrFenced = errors.New("breaker: a newer leader has written")
)

// Store keeps the state that the managers of a fleet share: the leader's lease, the records of
// circuits in [NumShards] shards, and the counters of probes.
//
// One store serves one breaker. Managers with different names must not share a store. A manager
// asks only for shards 0 to NumShards-1, and for a TTL or an Every of at least one millisecond.
// Neither side changes a value after it was passed or returned.
//
// All times are times of the store's clock. They are never compared with the clock of a manager.
// Every method returns an error when its context ends. The manager stops waiting then, even if the
// method does not return. All methods are safe for concurrent use.
type Store interface {
	// Campaign makes the candidate the leader if there is no leader. If the candidate leads
	// already, Campaign extends its lease to TTL from now. Otherwise it changes nothing. It returns
	// the current lease, which may belong to another manager.
	Campaign(ctx context.Context, c Candidate) (Lease, error)
	// Resign ends the lease if it is still current, so that another manager can lead at once.
	Resign(ctx context.Context, l Lease) error
	// Versions returns the version of every shard and the store's time, in one read.
	Versions(ctx context.Context) (Versions, error)
	// Load returns the requested shards in any order, each as it was at one instant. An empty shard
	// is returned too, with its version.
	Load(ctx context.Context, shards []int) ([]Shard, error)
	// Apply writes all changes of a [Batch] to one shard, or none. It returns the shard's new
	// version.
	Apply(ctx context.Context, b Batch) (Version, error)
	// Probe takes probes from the budget of the whole fleet. It returns one grant for each request,
	// in the same order.
	Probe(ctx context.Context, requests []ProbeRequest) ([]ProbeGrant, error)
	// Close releases what the store created. It does not close what it was given, such as a client
	// or a database.
	Close() error
}

// Watcher is a [Store] that reports changes. Reports make a refresh earlier. A change without a
// report is found by the next regular refresh.
type Watcher interface {
	// Watch calls changed soon after each change, until the context ends. If it cannot watch any
	// longer, it returns an error. The manager calls it again after one second, unless the error is
	// errors.ErrUnsupported. Before the context ends, a nil error counts as a failure.
	Watch(ctx context.Context, changed func()) error
}

// Candidate is a request to lead.
type Candidate struct {
	Owner string        // unique to each manager
	TTL   time.Duration // length of the lease, from the store's now
}

// Lease describes the current leader.
type Lease struct {
	Owner string // Candidate.Owner of the leader
	// Term is higher than the term of every earlier lease, even if the store has lost its data. The
	// extension of a lease keeps its term.
	Term      uint64
	Remaining time.Duration // time until the lease ends, unless it is extended
}

// Version is the version of a shard. The zero Version means that the shard was never written, or
// that the store has lost it.
type Version struct {
	// Epoch is the time of the shard's first write, in microseconds of the store's clock. A shard
	// that was lost and written again has another epoch.
	Epoch  uint64
	Number uint64 // number of writes since the first one
}

// Versions are the versions of all shards.
type Versions struct {
	Now    time.Time // the store's clock
	Shards [NumShards]Version
}

// Shard is the content of one shard.
type Shard struct {
	Index   int
	Version Version
	Records []StoredRecord
}

// StoredRecord is one record. The store returns Data unchanged.
type StoredRecord struct {
	ID   RecordID
	Data []byte
}

// RecordID identifies a record. It has 32 bytes for every key, so that it fits into any column
// and index.
type RecordID [sha256.Size]byte

// Shard returns the index of the shard that holds the record.
func (id RecordID) Shard() int {
	return int(binary.BigEndian.Uint16(id[:]) % NumShards)
}

// Batch is a set of changes to one shard. The store applies it only if both conditions hold:
//
//   - The shard's version is Expect. Otherwise Apply returns [ErrConflict].
//   - No batch with a higher term was applied to the shard. Otherwise Apply returns [ErrFenced].
//
// A batch without changes stores only its term.
type Batch struct {
	Shard   int
	Term    uint64 // of the writer's lease; 0 for a change by hand, which is not fenced
	Expect  Version
	Changes []Change
}

// Change replaces the data of one record. Nil Data deletes the record.
type Change struct {
	ID   RecordID
	Data []byte
}

// ProbeRequest asks for probes of one half-open circuit.
type ProbeRequest struct {
	ID         RecordID
	Generation uint64        // of the circuit; each generation has its own budget
	Since      time.Time     // start of the half-open state, by the store's clock
	Every      time.Duration // length of a budget period; periods start at Since
	Budget     int           // probes of the whole fleet per period
	Want       int           // maximum to grant
}

// ProbeGrant is the answer to one [ProbeRequest].
type ProbeGrant struct {
	Granted   int           // 0 to Want
	Remaining time.Duration // until the next period; granted probes must be used before
}
