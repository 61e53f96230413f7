package lru

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// maxBuckets limits a table to 128 kB.
const maxBuckets = 1 << 14

// table finds entries by key. It is a hash table of linked lists. Find takes no lock; changes
// need the lock of the caller. A list of a removed entry still leads to the entries behind it, for those
// that read it meanwhile.
type table[V any] struct {
	seed    maphash.Seed
	buckets []atomic.Pointer[entry[V]]
}

// newTable returns a table for a number of entries. More have longer lists.
func newTable[V any](entries int) table[V] {
	n := 1 << bits.Len(uint(min(entries, maxBuckets)-1))
	return table[V]{seed: maphash.MakeSeed(), buckets: make([]atomic.Pointer[entry[V]], n)}
}

func (t *table[V]) bucket(key string) *atomic.Pointer[entry[V]] {
	return &t.buckets[maphash.String(t.seed, key)&uint64(len(t.buckets)-1)]
}

func (t *table[V]) find(key string) *entry[V] {
	e := t.bucket(key).Load()
	for e != nil && e.key != key {
		e = e.next.Load()
	}
	return e
}

func (t *table[V]) insert(e *entry[V]) {
	first := t.bucket(e.key)
	e.next.Store(first.Load())
	first.Store(e)
}

func (t *table[V]) remove(e *entry[V]) {
	link := t.bucket(e.key)
	for link.Load() != e {
		link = &link.Load().next
	}
	link.Store(e.next.Load())
}
