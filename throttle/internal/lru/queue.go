package lru

import (
	"cmp"
	"container/heap"
	"slices"
)

// queue is a heap of entries by their recorded use. A use changes nothing here: the queue
// records it when the entry is the oldest. It is guarded by the lock of the caller.
type queue[V any] []*entry[V]

// oldest returns the entry that was not used for the longest time, or nil if there is none. It is
// the first of the heap.
func (q *queue[V]) oldest() *entry[V] {
	for range *q { // not longer: all may be used meanwhile, again and again
		e := (*q)[0]
		last := e.used.last()
		if last == e.recorded {
			return e
		}
		e.recorded = last
		heap.Fix(q, 0)
	}
	if len(*q) == 0 {
		return nil
	}
	return (*q)[0]
}

// sort records every use, and sorts the entries: the last used last. A sorted slice is a heap.
func (q queue[V]) sort() {
	for _, e := range q {
		e.recorded = e.used.last()
	}
	slices.SortFunc(q, func(a, b *entry[V]) int { return cmp.Compare(a.recorded, b.recorded) })
}

// Len, Less, Swap, Push and Pop are those of [heap.Interface].
func (q queue[V]) Len() int           { return len(q) }
func (q queue[V]) Less(i, j int) bool { return q[i].recorded < q[j].recorded }
func (q queue[V]) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

func (q *queue[V]) Push(e any) { *q = append(*q, e.(*entry[V])) }

func (q *queue[V]) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
