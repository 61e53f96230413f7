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
	memoryParts = 64
	fewBuckets  = 64 // of a part, among which it is not worth looking for full ones

	longestKey = 128                          // in bytes, that is kept as it is: what is longer is hashed, so that it costs no more
	keyStart   = longestKey + 1 - sha256.Size // what is kept of a longer one, before its hash
)

// MemoryStore is a [store.Store] in memory, for one process. Buckets that are full again cost nothing. Make it with [NewMemoryStore].
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
	sweep  int   // the number of buckets from which on the full ones are forgotten
	latest int64 // time at which a bucket was used
	_      [32]byte
}

// at is the time at which a bucket is used by somebody who read the clock before the lock was free. Others may have been here since, and have left
// a bucket that is empty at a later time: by the earlier one it would be too far ahead, and brought back, with the difference to be spent twice.
func (p *memoryPart) at(read int64) int64 {
	p.latest = max(p.latest, read)
	return p.latest
}

// memoryBucket is a bucket, and the limit by which it was asked last.
type memoryBucket struct {
	state refill.State
	limit Limit
	rate  refill.Rate // of limit
}

// NewMemoryStore returns an empty store.
//
// A bucket costs about 150 bytes and its key. A key of more than 128 bytes is kept as its first 97 and its SHA-256, so that a bucket costs 300 bytes at
// most. It stays until it is full, and then until the number of buckets has doubled since full ones were last looked for, which is done when
// others are added. Their number has no bound of its own: where strangers choose the keys, it is up to twice as many as they think of in the
// time in which a bucket fills.
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

// bucketID is what a key is kept as. None that is kept as it is can be taken for one with a hash, which is longer.
func bucketID(key string) string {
	if len(key) <= longestKey {
		return key
	}
	return hashed(key)
}

// hashed is apart, so that bucketID is inlined.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return key[:keyStart] + string(sum[:])
}

// Take implements [store.Store].
func (s *MemoryStore) Take(ctx context.Context, r store.Request) (d Decision, err error) {
	if err := ctx.Err(); err != nil {
		return d, err
	}
	s.take(r.Key, &r.Limit, r.Min, r.Max, &d)
	return d, nil
}

// take is Take without the context, and without copies.
func (s *MemoryStore) take(key string, limit *Limit, atLeast, atMost int64, d *Decision) {
	read := s.now()
	key = bucketID(key)
	p := s.part(key)
	p.mu.Lock()
	now := p.at(read)
	b := p.levels[key]
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

// add makes room for a bucket, and makes it. The key may be a part of something large, such as a request, which is not kept.
func (p *memoryPart) add(key string, now int64) *memoryBucket {
	p.forgetFull(now)
	b := &memoryBucket{}
	p.levels[strings.Clone(key)] = b
	return b
}

// forgetFull drops the buckets that are full, each time that the number of all has doubled.
func (p *memoryPart) forgetFull(now int64) {
	if len(p.levels) < p.sweep {
		return
	}
	for key, b := range p.levels {
		if b.rate.Full(&b.state, now) {
			delete(p.levels, key)
		}
	}
	p.sweep = max(fewBuckets, 2*len(p.levels))
}

// Return implements [store.Store].
func (s *MemoryStore) Return(ctx context.Context, key string, l Limit, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key = bucketID(key)
	p := s.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.levels[key]; b != nil {
		rate := rateOf(l)
		rate.Return(&b.state, p.at(s.now()), n)
	}
	return nil
}

// Reset implements [store.Store].
func (s *MemoryStore) Reset(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key = bucketID(key)
	p := s.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.levels, key)
	return nil
}

// Close implements [store.Store]. It does nothing.
func (s *MemoryStore) Close() error { return nil }
