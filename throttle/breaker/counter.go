package breaker

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
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
	seed    maphash.Seed
	dropped atomic.Uint64
	parts   [counterShards]counterPart
}

// counterPart is a share of the circuits.
type counterPart struct {
	mu    sync.Mutex
	slots map[Key]*slot
	swept time.Duration
}

// NewCounter returns a counter that remembers results for the span, which must be the manager's ObservabilityWindow. A span below
// a millisecond is one.
func NewCounter(span time.Duration) *Counter {
	c := &Counter{span: max(span, time.Millisecond), begun: time.Now(), seed: maphash.MakeSeed()}
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

// part returns where a key is counted.
func (c *Counter) part(k Key) *counterPart {
	return &c.parts[maphash.Comparable(c.seed, k)%counterShards]
}

func (c *Counter) add(k Key, failed bool) { c.addTo(c.slot(k), failed) }

// addTo counts one result. Without a slot it is dropped.
func (c *Counter) addTo(s *slot, failed bool) {
	if s == nil {
		c.dropped.Add(1)
		return
	}
	s.add(time.Since(c.begun), failed)
}

// slot returns where a circuit is counted. It makes room if need be, at the expense of those without calls, and returns nil if
// there is none.
func (c *Counter) slot(k Key) *slot {
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[k]; s != nil {
		return s
	}
	now := time.Since(c.begun)
	if len(p.slots) >= mostCounted/counterShards {
		c.sweep(p, now)
	}
	if len(p.slots) >= mostCounted/counterShards {
		return nil
	}
	s := newSlot(c.span, now)
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
		if s.idle(now) > 2*c.span {
			s.gone.Store(true)
			delete(p.slots, k)
		}
	}
}

// turn forgets what a circuit's calls were before it changed.
func (c *Counter) turn(k Key) {
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[k]; s != nil {
		s.turn()
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
