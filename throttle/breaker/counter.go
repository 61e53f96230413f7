package breaker

import (
	"context"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	counterBuckets = 20
	// mostCounted is how many circuits are counted at once, of 1.4 kB each: 180 MB. What calls through others come to is dropped, and so does
	// not open them, until some of those that are counted have had no call for two windows.
	maxCounted    = 1 << 17
	counterShards = 64 // so many that looking through one of them keeps no call for long
	// readAtOnce is how many circuits a poll reads before it lets calls have the lock.
	readBatch = 128
)

// Counter counts how the calls of one process ended, for each circuit, over a sliding window: the source of a breaker that needs no
// other. Its [Counter.Poll] is a [PollFunc]; a manager without a Poll makes one for itself. In a fleet it is blind to what the other
// agents see.
//
// A circuit costs about 1.4 kB and its key, until it has had no call for two windows. About 130,000 are counted at once. Beyond
// that the results of new ones are dropped, as [Counter.Dropped] tells: they do not open, and those that are counted are counted on.
type Counter struct {
	span    time.Duration
	begun   time.Time
	seed    maphash.Seed
	dropped atomic.Uint64
	yield   func() // of a poll, without a lock
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
	c := &Counter{span: max(span, time.Millisecond), begun: time.Now(), seed: maphash.MakeSeed(), yield: runtime.Gosched}
	for i := range c.parts {
		c.parts[i].slots = map[Key]*slot{}
	}
	return c
}

// Success counts a call that ended well. Permits do it by themselves.
func (c *Counter) Success(k Key) { c.add(k, false) }

// Failure counts a call that failed.
func (c *Counter) Failure(k Key) { c.add(k, true) }

// Dropped returns how many results were not counted, because there are too many circuits: more than about 130,000 within two
// windows.
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
	if len(p.slots) >= maxCounted/counterShards {
		c.sweep(p, now)
	}
	if len(p.slots) >= maxCounted/counterShards {
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
		c.forget(p, k, s, now)
	}
}

// forget forgets a circuit if it is without calls, and reports whether it is.
func (c *Counter) forget(p *counterPart, k Key, s *slot, now time.Duration) bool {
	if s.idle(now) <= 2*c.span {
		return false
	}
	s.removed.Store(true)
	delete(p.slots, k)
	return true
}

// turn forgets what a circuit's calls were before it changed.
func (c *Counter) reset(k Key) {
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[k]; s != nil {
		s.reset()
	}
}

// Poll implements [PollFunc]. It counts over the counter's own window, and since the last change of each circuit, of which the manager
// tells it.
func (c *Counter) Poll(_ context.Context, q PollQuery) (map[Key]PollResult, error) {
	now := time.Since(c.begun)
	results := map[Key]PollResult{}
	for i := range c.parts {
		c.collect(&c.parts[i], now, q, results)
	}
	return results, nil
}

// collect adds what counts of a part. It forgets circuits without calls on the way.
func (c *Counter) collect(p *counterPart, now time.Duration, q PollQuery, results map[Key]PollResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	read := 0
	for k, s := range p.slots {
		if !c.forget(p, k, s, now) {
			q.pick(results, k, s.read(now))
		}
		if read++; read%readBatch == 0 { // at the end of a turn: s may be forgotten meanwhile
			p.mu.Unlock()
			c.yield() // or those who wait for the lock would not get it
			p.mu.Lock()
		}
	}
}

// pick adds the counts of a circuit to the results, if they matter.
func (q *PollQuery) pick(results map[Key]PollResult, k Key, n window.Counts) {
	_, asked := q.Since[k]
	if failures := float64(n.Rejected); asked || failures >= q.MinFailures {
		results[k] = PollResult{Failures: failures, Successes: float64(n.Accepted)}
	}
}

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
