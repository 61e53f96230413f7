package bucket

import (
	"context"
	"crypto/sha256"
	"hash/maphash"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

const (
	memoryShards = 64

	maxKey    = 128                      // bytes of a key that are kept; a longer key is hashed, to bound its memory
	keyPrefix = maxKey + 1 - sha256.Size // bytes of a longer key that are kept before its hash
)

// MemoryStore is a [store.Store] in memory, for one process. It removes full buckets. Make it with
// [NewMemoryStore].
type MemoryStore struct {
	start     time.Time
	startNano int64 // start, in nanoseconds since 1970
	seed      maphash.Seed
	shards    [memoryShards]memoryShard
}

// NewMemoryStore returns an empty store.
//
// A bucket uses about 150 bytes and its key. A key of more than 128 bytes is stored as its first
// 97 bytes and its SHA-256: a bucket uses at most about 300 bytes. Full buckets are removed when
// new ones are added and the number of buckets has doubled since the last removal.
//
// The number of buckets has no limit. If untrusted callers choose the keys, it is up to twice the
// number of keys that they use while a bucket fills.
func NewMemoryStore() *MemoryStore {
	s := &MemoryStore{start: time.Now(), seed: maphash.MakeSeed()}
	s.startNano = s.start.UnixNano()
	for i := range s.shards {
		s.shards[i].rebuild(nil)
	}
	return s
}

// now returns the time in nanoseconds since 1970, by the monotonic clock.
func (s *MemoryStore) now() int64 { return s.startNano + int64(time.Since(s.start)) }

// shard returns the shard of a key, and the hash of the key in it.
func (s *MemoryStore) shard(key string) (*memoryShard, uint64) {
	hash := maphash.String(s.seed, key)
	return &s.shards[hash%memoryShards], hash / memoryShards
}

// bucketID returns the stored form of a key. A hashed key is longer than any other stored key, so
// that the two cannot be confused.
func bucketID(key string) string {
	if len(key) <= maxKey {
		return key
	}
	return hashed(key)
}

// hashed is separate so that bucketID is inlined.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return key[:keyPrefix] + string(sum[:])
}

// Take implements [store.Store].
func (s *MemoryStore) Take(ctx context.Context, r store.Request) (d Decision, err error) {
	if err := ctx.Err(); err != nil {
		return d, err
	}
	limit := rated(r.Limit)
	s.take(r.Key, &limit, r.Min, r.Max, &d)
	return d, nil
}

// take is Take without a context. It writes the decision in place.
func (s *MemoryStore) take(key string, limit *ratedLimit, atLeast, atMost int64, d *Decision) {
	d.Limit = limit.Capacity
	key = bucketID(key)
	p, hash := s.shard(key)
	if limit.Algorithm == Continuous {
		now := s.now()
		if b := p.find(hash, key); b != nil && b.take(&limit.rate, now, atLeast, atMost, d) {
			return
		}
	}
	p.mu.Lock()
	b := p.find(hash, key)
	if b == nil {
		b = p.add(hash, key, s.now())
	}
	state := b.freeze()
	decide(&limit.rate, &state, s.now(), atLeast, atMost, d)
	b.thaw(state)
	p.mu.Unlock()
}

// Return implements [store.Store].
func (s *MemoryStore) Return(ctx context.Context, key string, l Limit, n int64) error {
	return s.update(ctx, key, func(b *memoryBucket) {
		limit, state := rated(l), b.freeze()
		limit.rate.Return(&state, s.now(), n)
		b.thaw(state)
	})
}

// Reset implements [store.Store].
func (s *MemoryStore) Reset(ctx context.Context, key string) error {
	return s.update(ctx, key, func(b *memoryBucket) { b.reset(s.now()) })
}

// update calls change with the bucket of a key, if there is one, and with the lock.
func (s *MemoryStore) update(ctx context.Context, key string, change func(*memoryBucket)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key = bucketID(key)
	p, hash := s.shard(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.find(hash, key); b != nil {
		change(b)
	}
	return nil
}

// Close implements [store.Store]. It does nothing: later calls work as before.
func (s *MemoryStore) Close() error { return nil }
