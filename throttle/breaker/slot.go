package breaker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// slot counts one circuit. Counting takes no lock.
type slot struct {
	window  *window.Window
	last    atomic.Int64 // when a result was counted, since the counter was made
	removed atomic.Bool  // the counter has another one for the circuit, or none

	mu   sync.Mutex
	mark window.Counts // everything up to the last change of the circuit, which is of no account
}

func newSlot(span, now time.Duration) *slot {
	s := &slot{window: window.New(window.Shape{Span: span, Buckets: counterBuckets, Rows: 1, Stripes: 1})}
	s.window.Roll(now)
	s.last.Store(int64(now))
	return s
}

// add counts one result.
func (s *slot) add(now time.Duration, failed bool) {
	if s.window.Due(now) {
		s.window.Roll(now)
		s.last.Store(int64(now))
	}
	column := window.Accepted
	if failed {
		column = window.Rejected
	}
	s.window.Row(0, 0)[column].Add(1)
}

// idle returns for how long nothing was counted, to a bucket.
func (s *slot) idle(now time.Duration) time.Duration { return now - time.Duration(s.last.Load()) }

// turn marks everything that was counted as of no account.
func (s *slot) reset() {
	var ever [1]window.Counts
	s.window.Ever(ever[:])
	s.mu.Lock()
	s.mark = ever[0]
	s.mu.Unlock()
}

// read returns what counts: what lies within the window and after the mark, which is the shorter of both.
func (s *slot) read(now time.Duration) window.Counts {
	s.mu.Lock()
	mark := s.mark
	s.mu.Unlock()
	var span, ever [1]window.Counts
	s.window.ReadAt(now, window.Reading{Span: span[:], Ever: ever[:]})
	return window.Counts{
		Accepted: min(span[0].Accepted, ever[0].Accepted-mark.Accepted),
		Rejected: min(span[0].Rejected, ever[0].Rejected-mark.Rejected),
	}
}
