package breaker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	counterBuckets = 20
	mostCounted    = 1 << 20 // circuits
	counterShards  = 16
)

// Counter counts how the calls of one process ended, for each circuit, over a sliding window: the source of a breaker that needs no
// other. Its [Counter.Poll] is a [PollFunc]; a manager without a Poll makes one for itself. In a fleet it is blind to what the other
// agents see. Circuits without calls cost nothing after the window.
type Counter struct {
	span    time.Duration
	begun   time.Time
	dropped atomic.Uint64
	parts   [counterShards]counterPart
}

// counterPart is a share of the circuits.
type counterPart struct {
	mu    sync.Mutex
	slots map[Key]*slot
	swept time.Duration
}

// slot counts one circuit.
type slot struct {
	window *window.Window
	mark   window.Counts // everything up to the last change of the circuit, which is of no account
	last   time.Duration
}

// NewCounter returns a counter that remembers results for the span, which must be the manager's ObservabilityWindow. A span below
// a millisecond is one.
func NewCounter(span time.Duration) *Counter {
	c := &Counter{span: max(span, time.Millisecond), begun: time.Now()}
	for i := range c.parts {
		c.parts[i].slots = map[Key]*slot{}
	}
	return c
}

// Success counts a call that ended well. Permits do it by themselves.
func (c *Counter) Success(k Key) { c.add(k, false) }

// Failure counts a call that failed.
func (c *Counter) Failure(k Key) { c.add(k, true) }

// Dropped returns how many results were not counted, because there are too many circuits: more than about a million within one window.
func (c *Counter) Dropped() uint64 { return c.dropped.Load() }

// part returns where a key is counted. It need not be spread well: the parts only keep goroutines out of each other's way.
func (c *Counter) part(k Key) *counterPart {
	h := uint32(len(k.ID))
	for i := range min(len(k.ID), 8) {
		h = h*31 + uint32(k.ID[len(k.ID)-1-i])
	}
	return &c.parts[h%counterShards]
}

func (c *Counter) add(k Key, failed bool) {
	now := time.Since(c.begun)
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.slots[k]
	if s == nil {
		if s = c.newSlot(p, k, now); s == nil {
			c.dropped.Add(1)
			return
		}
	}
	s.roll(now)
	s.last = now
	column := window.Accepted
	if failed {
		column = window.Rejected
	}
	s.window.Row(0, 0)[column].Add(1)
}

// newSlot makes room for a circuit, at the expense of those without calls if need be. It returns nil if there is none.
func (c *Counter) newSlot(p *counterPart, k Key, now time.Duration) *slot {
	if len(p.slots) >= mostCounted/counterShards {
		c.sweep(p, now)
	}
	if len(p.slots) >= mostCounted/counterShards {
		return nil
	}
	s := &slot{window: window.New(window.Shape{Span: c.span, Buckets: counterBuckets, Rows: 1, Stripes: 1})}
	s.window.Roll(now)
	p.slots[k] = s
	return s
}

// sweep forgets circuits without calls, at most once per bucket.
func (c *Counter) sweep(p *counterPart, now time.Duration) {
	if now-p.swept < c.span/counterBuckets {
		return
	}
	p.swept = now
	for k, s := range p.slots {
		if now-s.last > 2*c.span {
			delete(p.slots, k)
		}
	}
}

func (s *slot) roll(now time.Duration) {
	if s.window.Due(now) {
		s.window.Roll(now)
	}
}

// turn forgets what a circuit's calls were before it changed.
func (c *Counter) turn(k Key) {
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[k]; s != nil {
		var ever [1]window.Counts
		s.window.Ever(ever[:])
		s.mark = ever[0]
	}
}

// Poll implements [PollFunc]. It counts over the counter's own window, and since the last change of each circuit, of which the manager
// tells it.
func (c *Counter) Poll(_ context.Context, q PollQuery) (map[Key]PollResult, error) {
	now := time.Since(c.begun)
	results := map[Key]PollResult{}
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		c.sweep(p, now)
		for k, s := range p.slots {
			n := s.read(now)
			_, asked := q.Since[k]
			if failures := float64(n.Rejected); asked || failures >= q.MinFailures {
				results[k] = PollResult{Failures: failures, Successes: float64(n.Accepted)}
			}
		}
		p.mu.Unlock()
	}
	return results, nil
}

// read returns what counts: what lies within the window and after the mark, which is the shorter of both.
func (s *slot) read(now time.Duration) window.Counts {
	var span, ever [1]window.Counts
	s.window.ReadAt(now, window.Reading{Span: span[:], Ever: ever[:]})
	return window.Counts{
		Accepted: min(span[0].Accepted, ever[0].Accepted-s.mark.Accepted),
		Rejected: min(span[0].Rejected, ever[0].Rejected-s.mark.Rejected),
	}
}
