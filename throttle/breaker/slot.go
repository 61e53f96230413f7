package breaker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// maxCollisions is how often calls may collide in a bucket of a slot before the slot gets stripes.
const maxCollisions = 64

// slot counts the results of one circuit. Counting takes no lock.
//
// There may be many slots, so a slot begins with one counter of each result. If calls on several
// processors collide there, later results are counted in stripes, where they rarely meet.
type slot struct {
	span       time.Duration
	single     *window.Window                // counts until striped is set
	striped    atomic.Pointer[window.Window] // nil until calls have collided
	collisions atomic.Int32                  // in the open bucket of single
	removed    atomic.Bool                   // the counter no longer uses the slot
	seen       time.Duration                 // last time that a result was in the window; guarded by counterPart.mu

	mu   sync.Mutex
	mark window.Counts // totals at the last change of the circuit; earlier results do not count
}

func newSlot(span, now time.Duration) *slot {
	return &slot{span: span, single: newSlotWindow(span, 1), seen: now}
}

// newSlotWindow returns an empty window. If stripes is 0, the processors decide their number.
func newSlotWindow(span time.Duration, stripes int) *window.Window {
	return window.New(window.Shape{Span: span, Buckets: counterBuckets, Rows: 1, Stripes: stripes})
}

// add counts one result.
func (s *slot) add(now time.Duration, failed bool) {
	column := window.Accepted
	if failed {
		column = window.Rejected
	}
	if w := s.striped.Load(); w != nil {
		if w.Due(now) {
			w.Roll(now)
		}
		w.Row(w.Pick(), 0)[column].Add(1)
		return
	}
	if s.single.Due(now) {
		s.single.Roll(now)
		s.collisions.Store(0)
	}
	cell := &s.single.Row(0, 0)[column]
	s.increment(cell, cell.Load())
}

// increment adds one to a counter that was n. If it is not n now, calls have collided.
func (s *slot) increment(cell *atomic.Uint64, n uint64) {
	if !cell.CompareAndSwap(n, n+1) {
		s.collide(cell)
	}
}

// collide is separate so that increment is inlined.
//
//go:noinline
func (s *slot) collide(cell *atomic.Uint64) {
	cell.Add(1)
	if s.collisions.Add(1) >= maxCollisions {
		s.stripe()
	}
}

// stripe makes the stripes, unless the slot has them.
func (s *slot) stripe() {
	s.striped.CompareAndSwap(nil, newSlotWindow(s.span, 0))
}

// windows returns the windows in which results are counted. The second may be nil.
func (s *slot) windows() [2]*window.Window {
	return [2]*window.Window{s.single, s.striped.Load()}
}

// reset discards all results so far.
func (s *slot) reset() {
	var all window.Counts
	for _, w := range s.windows() {
		if w != nil {
			var ever [1]window.Counts
			w.Ever(ever[:])
			all = plus(all, ever[0])
		}
	}
	s.mu.Lock()
	s.mark = all
	s.mu.Unlock()
}

// read returns the results within the window and after the last reset.
func (s *slot) read(now time.Duration) window.Counts {
	s.mu.Lock()
	mark := s.mark
	s.mu.Unlock()
	var recent, all window.Counts
	for _, w := range s.windows() {
		if w != nil {
			var span, ever [1]window.Counts
			w.ReadAt(now, window.Reading{Span: span[:], Ever: ever[:]})
			recent, all = plus(recent, span[0]), plus(all, ever[0])
		}
	}
	return window.Counts{
		Accepted: min(recent.Accepted, all.Accepted-mark.Accepted),
		Rejected: min(recent.Rejected, all.Rejected-mark.Rejected),
	}
}

func plus(a, b window.Counts) window.Counts {
	return window.Counts{Accepted: a.Accepted + b.Accepted, Rejected: a.Rejected + b.Rejected}
}
