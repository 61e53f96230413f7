// Package lru keeps the values that were used last, by key.
//
// [Map.Get] takes no lock, and goroutines on different processors write to different memory. Each
// value has the time of its last use on each stripe, and a goroutine picks its stripe by the address
// of its stack. The last use of a value is the latest of these times.
package lru

import (
	"container/heap"
	"slices"
	"sync/atomic"
	"time"
)

// Map is a map that forgets the values that were not used for the longest time. Make it with New.
// Get and Find are safe for concurrent use, also with other methods. The other methods need a lock of
// the caller.
type Map[V any] struct {
	max    int
	idle   time.Duration
	base   time.Time
	table  table[V]
	idleAt atomic.Int64 // no value is idle before
	latest useTimes     // the last use of any value
	_      [cacheLines]byte

	queue queue[V] // guarded by the lock of the caller
}

// maxIdle keeps sums of times from overflowing.
const maxIdle = time.Duration(1 << 62)

// New returns a map for at most max values. A value that was not used for idle may be forgotten.
func New[V any](limit int, idle time.Duration) *Map[V] {
	m := &Map[V]{
		max: limit, idle: min(idle, maxIdle), table: newTable[V](limit),
		base: time.Now().Add(-1), // the first use is later than no use
	}
	m.idleAt.Store(int64(maxIdle))
	return m
}

// Get returns the value of key, and counts as a use of it. Of two uses on one stripe the second is
// later, also while the clock does not move. Ok is false if the key has no value, or if some values
// are idle: call RemoveIdle and Use then.
func (m *Map[V]) Get(key string) (value V, ok bool) {
	now := int64(time.Since(m.base))
	e := m.table.find(key)
	if e == nil || now > m.idleAt.Load() {
		return value, false
	}
	i := pick()
	at := max(now, m.latest[i].at.Load()+1)
	m.latest[i].at.Store(at)
	e.used[i].at.Store(at)
	return e.value, true
}

// Find returns the value of key. It does not count as a use.
func (m *Map[V]) Find(key string) (value V, ok bool) {
	e := m.table.find(key)
	if e == nil {
		return value, false
	}
	return e.value, true
}

// Use returns the value of key, and counts as a use of it. It is later than all other uses.
func (m *Map[V]) Use(key string) (value V, ok bool) {
	e := m.table.find(key)
	if e == nil {
		return value, false
	}
	m.use(e)
	return e.value, true
}

// use marks an entry as used after all others.
func (m *Map[V]) use(e *entry[V]) {
	now := max(int64(time.Since(m.base)), m.latest.last()+1)
	for i := range m.latest {
		m.latest[i].at.Store(now) // the next Get may be on any stripe
	}
	e.used[0].at.Store(now)
}

// Put adds the value of a key that has none. It returns the value that it removed, if any.
func (m *Map[V]) Put(key string, value V) (removed []V) {
	for len(m.queue) >= m.max {
		removed = append(removed, m.removeOldest())
	}
	e := &entry[V]{key: key, value: value}
	m.use(e)
	e.recorded = e.used.last()
	m.table.insert(e)
	heap.Push(&m.queue, e)
	m.schedule()
	return removed
}

// RemoveIdle removes the values that are idle, and returns them.
func (m *Map[V]) RemoveIdle() (removed []V) {
	now := int64(time.Since(m.base))
	for e := m.queue.oldest(); e != nil && now-e.recorded > int64(m.idle); e = m.queue.oldest() {
		removed = append(removed, m.removeOldest())
	}
	m.schedule()
	return removed
}

// Clear removes all values, and returns them.
func (m *Map[V]) Clear() (removed []V) {
	for len(m.queue) > 0 {
		removed = append(removed, m.removeOldest())
	}
	return removed
}

func (m *Map[V]) removeOldest() V {
	e := m.queue.oldest()
	heap.Pop(&m.queue)
	m.table.remove(e)
	return e.value
}

// schedule sets when the first value may be idle.
func (m *Map[V]) schedule() {
	at := int64(maxIdle)
	if len(m.queue) > 0 {
		at = m.queue[0].recorded + int64(m.idle)
	}
	m.idleAt.Store(at)
}

// Values returns the values, the last used first.
func (m *Map[V]) Values() []V {
	m.queue.sort()
	values := make([]V, 0, len(m.queue))
	for _, e := range slices.Backward(m.queue) {
		values = append(values, e.value)
	}
	return values
}

// Len returns the number of values.
func (m *Map[V]) Len() int { return len(m.queue) }
