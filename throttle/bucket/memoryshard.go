package bucket

import (
	"strings"
	"sync"
	"sync/atomic"
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
