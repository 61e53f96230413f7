package breaker

import (
	"context"
	"errors"
	"time"
)

// NumShards is the number of shards in which a store keeps its records. A shard is what is read and written as a whole, so
// that a change costs a reader one shard and not everything.
const NumShards = 64

// ErrConflict is what [Store.Apply] returns if the shard has changed since the version that the writer knew: nothing was
// written. The writer reads the shard again and thinks again.
var ErrConflict = errors.New("breaker: the shard has changed since it was read")

// ErrFenced is what [Store.Apply] returns to a leader whom another one has followed: nothing was written.
var ErrFenced = errors.New("breaker: a newer leader has written")

// Store keeps what a fleet knows of its circuits: a lease that says who leads, records in [NumShards] shards, and the count of
// probes. One store belongs to one breaker: managers of different names must not share one. Managers ask for shards from 0 to NumShards-1
// only, for a TTL and an Every of at least a millisecond, and leave alone what they have handed over or were handed.
//
// All times are those of the store's own clock, which need not agree with anybody's. Every method returns when its context
// ends, with an error; the manager stops waiting by then in any case. All methods are safe for concurrent use. Package storetest
// tests all of this.
type Store interface {
	// Campaign makes the candidate the leader if nobody leads, or makes its lease last for another TTL if it leads already.
	// Otherwise it changes nothing. It returns the lease that holds now, whosever it is.
	Campaign(ctx context.Context, c Candidate) (Lease, error)
	// Resign ends the lease, if it is still the one that holds, so that another can lead at once.
	Resign(ctx context.Context, l Lease) error
	// Versions returns the version of every shard and the store's time, in one read.
	Versions(ctx context.Context) (Versions, error)
	// Load returns the shards that are asked for, in any order, each as it was at one instant. A shard that holds nothing is
	// returned with its version.
	Load(ctx context.Context, shards []int) ([]Shard, error)
	// Apply writes all the changes to one shard, or none: see Batch. It returns the shard's new version.
	Apply(ctx context.Context, b Batch) (Version, error)
	// Probe counts probes against the budget of the whole fleet. It returns one grant for each request, in the same order.
	Probe(ctx context.Context, requests []ProbeRequest) ([]ProbeGrant, error)
	// Close lets go of what the store made for itself. It leaves open what it was given, such as a client or a database.
	Close() error
}

// Watcher is a [Store] that can tell of changes. It is a hint: a change that it does not tell of is found at the next refresh.
type Watcher interface {
	// Watch calls changed after a change, soon, until the context ends. It returns early, with an error, if it can watch no
	// longer; the manager then calls it again after a second, unless the error is errors.ErrUnsupported. To return nil early is an error too.
	Watch(ctx context.Context, changed func()) error
}

// Candidate asks to lead.
type Candidate struct {
	Owner string        // who: unique to each manager
	TTL   time.Duration // for how long, from the store's now
}

// Lease says who leads.
type Lease struct {
	Owner     string
	Term      uint64        // rises with every lease that is not the extension of the one before it, also when the store has lost everything
	Remaining time.Duration // until it ends, unless it is extended
}

// Version is the version of a shard. The zero Version is that of a shard which was never written, or lost. Records that vanish while it
// stays are given back too, but that takes longer to notice.
type Version struct {
	Epoch  uint64 // when the shard was begun, in microseconds of the store's clock: a shard that is lost and begun again has another
	Number uint64 // of writes since then
}

// Versions are the versions of all shards.
type Versions struct {
	Now    time.Time // of the store
	Shards [NumShards]Version
}

// Shard is what a shard holds.
type Shard struct {
	Index   int
	Version Version
	Records []StoredRecord
}

// StoredRecord is a record as the store sees it: bytes, which it returns as it got them.
type StoredRecord struct {
	ID   RecordID
	Data []byte
}

// Batch is a set of changes to one shard. It is written only if the shard has the expected version ([ErrConflict]), and no batch with
// a higher term has been applied to the shard ([ErrFenced]). A batch without changes only leaves its term.
type Batch struct {
	Shard   int
	Term    uint64 // of the writer's lease; 0 for a change by hand, which is not fenced
	Expect  Version
	Changes []Change
}

// Change is the new content of a record. Nil Data deletes it.
type Change struct {
	ID   RecordID
	Data []byte
}

// ProbeRequest asks for leave to make probes.
type ProbeRequest struct {
	ID         RecordID
	Generation uint64        // of the circuit: each has budgets of its own
	Since      time.Time     // when the circuit became half-open, by the store's clock
	Every      time.Duration // the budget is for each such time since then
	Budget     int           // probes of the whole fleet in that time
	Want       int           // at most
}

// ProbeGrant is the answer.
type ProbeGrant struct {
	Granted   int           // 0 to Want
	Remaining time.Duration // until the next budget begins; what was granted must be used before
}
