package throttle

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// maxMemberBuckets limits a table to 128 kB.
const maxMemberBuckets = 1 << 14

// memberTable finds members by key. It is a hash table of linked lists. Find takes no lock; changes
// need that of the group. A list of a removed member still leads to the members behind it, for those
// that read it meanwhile.
type memberTable struct {
	seed    maphash.Seed
	buckets []atomic.Pointer[member]
}

// newMemberTable returns a table for a number of members. More have longer lists.
func newMemberTable(members int) memberTable {
	n := 1 << bits.Len(uint(min(members, maxMemberBuckets)-1))
	return memberTable{seed: maphash.MakeSeed(), buckets: make([]atomic.Pointer[member], n)}
}

func (t *memberTable) bucket(key string) *atomic.Pointer[member] {
	return &t.buckets[maphash.String(t.seed, key)&uint64(len(t.buckets)-1)]
}

// find returns the member with key, or nil.
func (t *memberTable) find(key string) *member {
	m := t.bucket(key).Load()
	for m != nil && m.key != key {
		m = m.next.Load()
	}
	return m
}

// insert adds a member whose key is not in the table.
func (t *memberTable) insert(m *member) {
	first := t.bucket(m.key)
	m.next.Store(first.Load())
	first.Store(m)
}

// remove removes a member of the table.
func (t *memberTable) remove(m *member) {
	link := t.bucket(m.key)
	for link.Load() != m {
		link = &link.Load().next
	}
	link.Store(m.next.Load())
}
