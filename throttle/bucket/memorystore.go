package bucket

import (
	"context"
	"hash/maphash"
	"sync"
	"time"
)

const (
	memoryParts = 64
	fewBuckets  = 64 // of a part, among which it is not worth looking for full ones
)

// MemoryStore is a [Store] in memory, for one process. Buckets that are full again cost nothing. Make it with [NewMemoryStore].
type MemoryStore struct {
	begun time.Time
	epoch int64 // begun, in nanoseconds since 1970
	seed  maphash.Seed
	parts [memoryParts]memoryPart
}

// memoryPart is a share of the buckets.
type memoryPart struct {
	mu     sync.Mutex
	levels map[string]*memoryBucket
	sweep  int // the number of buckets from which on the full ones are forgotten
	_      [40]byte
}

type memoryBucket struct {
	level Level
	limit Limit
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	s := &MemoryStore{begun: time.Now(), seed: maphash.MakeSeed()}
	s.epoch = s.begun.UnixNano()
	for i := range s.parts {
		s.parts[i].levels, s.parts[i].sweep = map[string]*memoryBucket{}, fewBuckets
	}
	return s
}

// now is the time in nanoseconds since 1970. It follows the monotonic clock.
func (s *MemoryStore) now() int64 { return s.epoch + int64(time.Since(s.begun)) }

func (s *MemoryStore) part(key string) *memoryPart {
	return &s.parts[maphash.String(s.seed, key)%memoryParts]
}

// Take implements [Store].
func (s *MemoryStore) Take(ctx context.Context, r Request) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	now := s.now()
	p := s.part(r.Key)
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.levels[r.Key]
	if b == nil {
		p.forgetFull(now)
		b = &memoryBucket{}
		p.levels[r.Key] = b
	}
	var d Decision
	b.level, d = b.level.Take(r.Limit, now, r.Min, r.Max)
	b.limit = r.Limit
	return d, nil
}

// forgetFull drops the buckets that are full, each time that the number of all has doubled.
func (p *memoryPart) forgetFull(now int64) {
	if len(p.levels) < p.sweep {
		return
	}
	for key, b := range p.levels {
		if b.level.Full(b.limit, now) {
			delete(p.levels, key)
		}
	}
	p.sweep = max(fewBuckets, 2*len(p.levels))
}

// Return implements [Store].
func (s *MemoryStore) Return(ctx context.Context, key string, l Limit, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := s.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.levels[key]; b != nil {
		b.level = b.level.Return(l, s.now(), n)
	}
	return nil
}

// Reset implements [Store].
func (s *MemoryStore) Reset(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := s.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.levels, key)
	return nil
}

// Close implements [Store]. It does nothing.
func (s *MemoryStore) Close() error { return nil }
