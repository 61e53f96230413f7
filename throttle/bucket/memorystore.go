package bucket

import (
	"context"
	"crypto/sha256"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

const (
	memoryShards = 64
	minSweep     = 64 // buckets per shard, below which full buckets are not removed

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

// memoryShard is the buckets of some keys.
type memoryShard struct {
	mu      sync.Mutex
	buckets map[string]*memoryBucket
	sweepAt int   // number of buckets at which full ones are removed
	latest  int64 // latest time of a request
	_       [32]byte
}

// advance returns the time of a request whose caller read the clock before it got the lock.
// Requests of other callers may be later. If time went back, an empty bucket would look too far in
// the future and be corrected, and the difference could be spent twice.
func (p *memoryShard) advance(read int64) int64 {
	p.latest = max(p.latest, read)
	return p.latest
}

// memoryBucket is one bucket and the limit of its last request.
type memoryBucket struct {
	state refill.State
	limit Limit
	rate  refill.Rate // of limit
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
		s.shards[i].buckets, s.shards[i].sweepAt = map[string]*memoryBucket{}, minSweep
	}
	return s
}

// now returns the time in nanoseconds since 1970, by the monotonic clock.
func (s *MemoryStore) now() int64 { return s.startNano + int64(time.Since(s.start)) }

func (s *MemoryStore) shard(key string) *memoryShard {
	return &s.shards[maphash.String(s.seed, key)%memoryShards]
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
	s.take(r.Key, &r.Limit, r.Min, r.Max, &d)
	return d, nil
}

// take is Take without a context. It writes the decision in place.
func (s *MemoryStore) take(key string, limit *Limit, atLeast, atMost int64, d *Decision) {
	read := s.now()
	key = bucketID(key)
	p := s.shard(key)
	p.mu.Lock()
	now := p.advance(read)
	b := p.buckets[key]
	if b == nil {
		b = p.add(key, now)
	}
	if b.limit != *limit {
		b.limit, b.rate = *limit, rateOf(*limit)
	}
	allowed, granted, remaining, retry, reset := b.rate.Take(&b.state, now, atLeast, atMost)
	p.mu.Unlock()
	d.Allowed, d.Granted, d.Remaining, d.Limit = allowed, granted, remaining, limit.Capacity
	d.RetryAfter, d.ResetAfter = time.Duration(retry), time.Duration(reset)
}

// rateOf returns the rate of a valid limit.
func rateOf(l Limit) refill.Rate {
	l = l.WithDefaults()
	return refill.New(l.Capacity, int64(l.Interval()), int64(l.Period), l.Algorithm == Fixed)
}

// add adds a full bucket. It copies the key, which may be part of a larger string such as a
// request.
func (p *memoryShard) add(key string, now int64) *memoryBucket {
	p.removeFull(now)
	b := &memoryBucket{}
	p.buckets[strings.Clone(key)] = b
	return b
}

// removeFull removes full buckets if the number of buckets has doubled since the last time.
func (p *memoryShard) removeFull(now int64) {
	if len(p.buckets) < p.sweepAt {
		return
	}
	for key, b := range p.buckets {
		if b.rate.Full(&b.state, now) {
			delete(p.buckets, key)
		}
	}
	p.sweepAt = max(minSweep, 2*len(p.buckets))
}

// Return implements [store.Store].
func (s *MemoryStore) Return(ctx context.Context, key string, l Limit, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key = bucketID(key)
	p := s.shard(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[key]; b != nil {
		rate := rateOf(l)
		rate.Return(&b.state, p.advance(s.now()), n)
	}
	return nil
}

// Reset implements [store.Store].
func (s *MemoryStore) Reset(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key = bucketID(key)
	p := s.shard(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.buckets, key)
	return nil
}

// Close implements [store.Store]. It does nothing: later calls work as before.
func (s *MemoryStore) Close() error { return nil }
