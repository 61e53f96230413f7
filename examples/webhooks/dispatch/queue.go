package dispatch

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Queue keeps deliveries until they are due and a worker has time. A real dispatcher has it in its database or its broker; like there, what
// a worker did not finish comes back. Make it with [NewQueue].
type Queue struct {
	mu      sync.Mutex
	waiting byDue
	changed chan struct{} // there is something earlier
	ready   chan Delivery
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	return &Queue{changed: make(chan struct{}, 1), ready: make(chan Delivery)}
}

// Put puts deliveries into the queue.
func (q *Queue) Put(deliveries ...Delivery) {
	q.mu.Lock()
	for _, d := range deliveries {
		heap.Push(&q.waiting, d)
	}
	q.mu.Unlock()
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// Take returns a delivery that is due, or reports false when ctx ends.
func (q *Queue) Take(ctx context.Context) (Delivery, bool) {
	select {
	case d := <-q.ready:
		return d, true
	case <-ctx.Done():
		return Delivery{}, false
	}
}

// Drain empties the queue and returns what was in it.
func (q *Queue) Drain() []Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// Due returns how many deliveries are due and have found no worker.
func (q *Queue) Due() int {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, d := range q.waiting {
		if !d.Due.After(now) {
			n++
		}
	}
	return n
}

// Run hands deliveries to whoever takes them, until ctx ends.
func (q *Queue) Run(ctx context.Context) {
	for ctx.Err() == nil {
		next, wait, ok := q.pop()
		if !ok {
			q.await(ctx, wait)
			continue
		}
		select {
		case q.ready <- next:
		case <-ctx.Done():
			q.Put(next)
		}
	}
}

// await waits until something may be due.
func (q *Queue) await(ctx context.Context, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.changed:
	case <-ctx.Done():
	}
}

// idle is how long nothing happens if nothing changes.
const idle = time.Minute

// pop takes out the first delivery if it is due. Otherwise it returns how long to wait.
func (q *Queue) pop() (Delivery, time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return Delivery{}, idle, false
	}
	if wait := time.Until(q.waiting[0].Due); wait > 0 {
		return Delivery{}, wait, false
	}
	return heap.Pop(&q.waiting).(Delivery), idle, true
}

// byDue is a heap of deliveries.
type byDue []Delivery

func (h byDue) Len() int           { return len(h) }
func (h byDue) Less(i, j int) bool { return h[i].Due.Before(h[j].Due) }
func (h byDue) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byDue) Push(d any)        { *h = append(*h, d.(Delivery)) }
func (h *byDue) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = Delivery{}
	*h = (*h)[:last]
	return d
}
