package bucket

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
)

const (
	minRoom  = 8  // buckets of a shard
	minSweep = 64 // buckets of a shard, below which full ones are not removed
)

// memoryShard is a hash table of some of the buckets. It is read without the lock and changed with
// it. A reader may miss a bucket while the table is rebuilt, and must look again with the lock.
type memoryShard struct {
	table atomic.Pointer[[]memoryList] // its length is a power of two
	mu    sync.Mutex
	size  int // number of buckets
	room  int // number of buckets at which the table is rebuilt
	_     [32]byte
}

// memoryList is the head of a list of the buckets whose hashes have the same lowest bits.
type memoryList = atomic.Pointer[memoryBucket]

func listOf(table []memoryList, hash uint64) *memoryList {
	return &table[hash&uint64(len(table)-1)]
}

func (p *memoryShard) find(hash uint64, key string) *memoryBucket {
	b := listOf(*p.table.Load(), hash).Load()
	for b != nil && b.key != key {
		b = b.next.Load()
	}
	return b
}

// add adds a full bucket. It copies the key, which may be part of a larger string such as a
// request.
func (p *memoryShard) add(hash uint64, key string, now int64) *memoryBucket {
	if p.size >= p.room {
		p.rebuild(p.sweep(now))
	}
	b := &memoryBucket{key: strings.Clone(key), hash: hash}
	push(*p.table.Load(), b)
	p.size++
	return b
}

// sweep returns the buckets that are not full. The others can no longer be used.
func (p *memoryShard) sweep(now int64) []*memoryBucket {
	kept := make([]*memoryBucket, 0, p.size)
	for i := range *p.table.Load() {
		for b := (*p.table.Load())[i].Load(); b != nil; b = b.next.Load() {
			if p.size < minSweep || !b.retire(now) {
				kept = append(kept, b)
			}
		}
	}
	return kept
}

// rebuild replaces the table by one of these buckets, with room for as many new ones.
func (p *memoryShard) rebuild(buckets []*memoryBucket) {
	p.size, p.room = len(buckets), max(minRoom, 2*len(buckets))
	length := minRoom
	for length < p.room {
		length *= 2
	}
	table := make([]memoryList, length)
	for _, b := range buckets {
		push(table, b)
	}
	p.table.Store(&table)
}

func push(table []memoryList, b *memoryBucket) {
	list := listOf(table, b.hash)
	b.next.Store(list.Load())
	list.Store(b)
}

// frozen is the value of memoryBucket.full if that field does not hold the state of the bucket. It
// is further in the future than any bucket.
const frozen = math.MaxInt64

// memoryBucket is one bucket. The state of a Continuous bucket is one word, and a take is one
// compare-and-swap of it. All else that takes of a key share is only read. So takes of one key are
// limited by how fast that word moves between processors. It has a cache line of its own.
//
// Any other state is read and changed with the lock of the shard, as are the interval and the
// capacity of the limit. The word is then frozen.
type memoryBucket struct {
	key      string
	hash     uint64
	next     atomic.Pointer[memoryBucket] // in the list of the shard
	interval atomic.Int64                 // nanoseconds per token of the last Continuous limit
	capacity atomic.Int64                 // of that limit
	_        [16]byte

	full  atomic.Int64  // when the bucket will be full, or frozen
	word  int64         // the last value of full that was not frozen
	state *refill.State // the last one that was not one word
}

// take takes tokens of a Continuous bucket without the lock. It returns false if it needs the lock.
func (b *memoryBucket) take(rate *refill.Rate, now, atLeast, atMost int64, d *Decision) bool {
	for {
		at := b.full.Load()
		if at == frozen || b.interval.Load() != rate.Interval() || b.capacity.Load() != rate.Capacity() {
			return false
		}
		after := at
		granted, remaining, retry, reset := rate.TakeContinuous(&after, now, atLeast, atMost)
		if b.swap(at, after) {
			d.Allowed, d.Granted, d.Remaining = granted >= atLeast, granted, remaining
			d.RetryAfter, d.ResetAfter = time.Duration(retry), time.Duration(reset)
			return true
		}
	}
}

// swap stores when the bucket will be full. It returns false if another take has changed that
// meanwhile. A take that changes nothing, such as a denied one, stores nothing.
func (b *memoryBucket) swap(before, after int64) bool {
	return before == after || b.full.CompareAndSwap(before, after)
}

// decide takes tokens, and writes all of the decision but its Limit.
func decide(rate *refill.Rate, state *refill.State, now, atLeast, atMost int64, d *Decision) {
	allowed, granted, remaining, retry, reset := rate.Take(state, now, atLeast, atMost)
	d.Allowed, d.Granted, d.Remaining = allowed, granted, remaining
	d.RetryAfter, d.ResetAfter = time.Duration(retry), time.Duration(reset)
}

// freeze returns the state, which only the caller can change until thaw. The caller must hold the
// lock, and must read the clock afterwards. That is later than the times of all takes before it.
func (b *memoryBucket) freeze() (state refill.State) {
	at, interval := b.full.Swap(frozen), b.interval.Load()
	switch {
	case at == frozen && b.state != nil:
		return *b.state
	case at != frozen && interval > 0:
		state.At, state.Interval, state.Capacity = at, interval, b.capacity.Load()
	}
	b.word = at
	return state
}

// thaw stores the state. It stays frozen if it is not one word. If the limit changes, the word
// changes too: a take that has read the old limit must not succeed.
func (b *memoryBucket) thaw(state refill.State) {
	if state.Period > 0 || state.Other != (refill.Entry{}) {
		if b.state == nil {
			b.state = new(refill.State)
		}
		*b.state = state
		return
	}
	if state.At == b.word && (state.Interval != b.interval.Load() || state.Capacity != b.capacity.Load()) {
		state.At++
	}
	b.interval.Store(state.Interval)
	b.capacity.Store(state.Capacity)
	b.full.Store(state.At)
}

// reset makes the bucket full since a minute ago: a take that read the clock before the reset, and
// comes after it, must find a full bucket too. The time differs from all times before, so that a
// take that has read one of them must try again. The caller must hold the lock.
func (b *memoryBucket) reset(now int64) { b.full.Store(now - int64(time.Minute)) }

// retire reports whether the bucket is full. If so, it stays frozen: a caller that found it before
// can take nothing. The caller must hold the lock.
func (b *memoryBucket) retire(now int64) bool {
	at := b.full.Load()
	if at == frozen {
		return b.state.FullAt() <= now
	}
	return at <= now && b.full.CompareAndSwap(at, frozen)
}
