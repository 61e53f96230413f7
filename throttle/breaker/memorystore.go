package breaker

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// MemoryStore is a store in memory, for one process. Create it with [NewMemoryStore]. A breaker
// without Config.Store has its own. Several managers of a process can share one, for example in
// tests.
type MemoryStore struct {
	mu      sync.Mutex
	lease   store.Lease // Remaining is not set
	until   time.Time   // end of the lease
	shards  [store.NumShards]memoryShard
	probes  map[memoryBudget]memoryProbes
	sweepAt int           // number of budgets at which ended ones are removed
	sampled atomic.Bool   // Manager.Sample was called: other managers only read without Run
	change  chan struct{} // closed and replaced at each change
}

type memoryShard struct {
	version store.Version
	term    uint64
	records map[store.RecordID][]byte
}

// memoryBudget identifies a budget of probes. Budgets of an old generation are kept, because a
// manager may not have read the new one yet.
type memoryBudget struct {
	id         store.RecordID
	generation uint64
}

// memoryProbes is how much of a budget is used, and until when.
type memoryProbes struct {
	period int64
	used   int
	until  time.Time
}

// minSweep is the number of budgets below which none are removed.
const minSweep = 1024

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{probes: map[memoryBudget]memoryProbes{}, sweepAt: minSweep, change: make(chan struct{})}
}

// Campaign implements [store.Store].
func (s *MemoryStore) Campaign(ctx context.Context, c store.Candidate) (store.Lease, error) {
	if err := ctx.Err(); err != nil {
		return store.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !now.Before(s.until) {
		s.lease = store.Lease{Owner: c.Owner, Term: max(s.lease.Term+1, uint64(now.UnixMicro()))}
	}
	if s.lease.Owner == c.Owner {
		s.until = now.Add(c.TTL)
	}
	current := s.lease
	current.Remaining = s.until.Sub(now)
	return current, nil
}

// Resign implements [store.Store].
func (s *MemoryStore) Resign(ctx context.Context, l store.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.Owner == l.Owner && s.lease.Term == l.Term {
		s.until = time.Time{}
	}
	return ctx.Err()
}

// Versions implements [store.Store].
func (s *MemoryStore) Versions(ctx context.Context) (store.Versions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := store.Versions{Now: time.Now()}
	for i := range s.shards {
		v.Shards[i] = s.shards[i].version
	}
	return v, ctx.Err()
}

// Load implements [store.Store].
func (s *MemoryStore) Load(ctx context.Context, shards []int) ([]store.Shard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded := make([]store.Shard, 0, len(shards))
	for _, i := range shards {
		shard := store.Shard{Index: i, Version: s.shards[i].version}
		for id, data := range s.shards[i].records {
			shard.Records = append(shard.Records, store.StoredRecord{ID: id, Data: data})
		}
		loaded = append(loaded, shard)
	}
	return loaded, ctx.Err()
}

// Apply implements [store.Store].
func (s *MemoryStore) Apply(ctx context.Context, b store.Batch) (store.Version, error) {
	if err := ctx.Err(); err != nil {
		return store.Version{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shard := &s.shards[b.Shard]
	if b.Term != 0 && b.Term < shard.term {
		return store.Version{}, store.ErrFenced
	}
	if shard.version != b.Expect {
		return store.Version{}, store.ErrConflict
	}
	shard.term = max(shard.term, b.Term)
	if len(b.Changes) > 0 {
		shard.write(b.Changes)
		close(s.change)
		s.change = make(chan struct{})
	}
	return shard.version, nil
}

func (s *memoryShard) write(changes []store.Change) {
	if s.version.Number++; s.version.Epoch == 0 {
		s.version.Epoch, s.records = uint64(time.Now().UnixMicro()), map[store.RecordID][]byte{}
	}
	for _, c := range changes {
		if s.records[c.ID] = bytes.Clone(c.Data); c.Data == nil {
			delete(s.records, c.ID)
		}
	}
}

// Probe implements [store.Store].
func (s *MemoryStore) Probe(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.forgetProbes(now)
	grants := make([]store.ProbeGrant, len(requests))
	for i, r := range requests {
		grants[i] = s.probe(r, now)
	}
	return grants, nil
}

func (s *MemoryStore) probe(r store.ProbeRequest, now time.Time) store.ProbeGrant {
	since := now.Sub(r.Since)
	if since < 0 {
		return store.ProbeGrant{Remaining: -since}
	}
	p := memoryProbes{period: int64(since / r.Every)}
	remaining := time.Duration(p.period+1)*r.Every - since
	p.until = now.Add(remaining)
	budget := memoryBudget{r.ID, r.Generation}
	if last, ok := s.probes[budget]; ok && last.period == p.period && now.Before(last.until) { // a removed circuit begins again at generation 1
		p.used = last.used
	}
	granted := max(0, min(r.Want, r.Budget-p.used))
	p.used += granted
	s.probes[budget] = p
	return store.ProbeGrant{Granted: granted, Remaining: remaining}
}

// forgetProbes removes ended budgets each time their number has doubled.
func (s *MemoryStore) forgetProbes(now time.Time) {
	if len(s.probes) < s.sweepAt {
		return
	}
	maps.DeleteFunc(s.probes, func(_ memoryBudget, p memoryProbes) bool { return !now.Before(p.until) })
	s.sweepAt = max(minSweep, 2*len(s.probes))
}

// Watch implements [store.Watcher].
func (s *MemoryStore) Watch(ctx context.Context, changed func()) error {
	next := func() <-chan struct{} {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.change
	}
	for change := next(); ; {
		select {
		case <-change:
			change = next() // before the report, during which there may be another change
			changed()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close implements [store.Store]. It does nothing: later calls work as before.
func (s *MemoryStore) Close() error { return nil }
