package throttle

import (
	"cmp"
	"container/heap"
	"slices"
)

// memberQueue is a heap of members by their recorded use. A use changes nothing here: the queue
// records it when the member is the oldest. It is guarded by the lock of the group.
type memberQueue []*member

// oldest returns the member that was not used for the longest time, or nil if there is none. It is
// the first of the heap.
func (q *memberQueue) oldest() *member {
	for range *q { // not longer: all may be used meanwhile, again and again
		m := (*q)[0]
		last := m.used.last()
		if last == m.recorded {
			return m
		}
		m.recorded = last
		heap.Fix(q, 0)
	}
	if len(*q) == 0 {
		return nil
	}
	return (*q)[0]
}

// sort records every use, and sorts the members: the last used last. A sorted slice is a heap.
func (q memberQueue) sort() {
	for _, m := range q {
		m.recorded = m.used.last()
	}
	slices.SortFunc(q, func(a, b *member) int { return cmp.Compare(a.recorded, b.recorded) })
}

// Len, Less, Swap, Push and Pop are those of [heap.Interface].
func (q memberQueue) Len() int           { return len(q) }
func (q memberQueue) Less(i, j int) bool { return q[i].recorded < q[j].recorded }
func (q memberQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

func (q *memberQueue) Push(m any) { *q = append(*q, m.(*member)) }

func (q *memberQueue) Pop() any {
	last := len(*q) - 1
	m := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return m
}
