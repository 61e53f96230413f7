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
	// maxCounted limits the circuits that are counted at once. Each takes 1.4 kB, 180 MB in all, and
	// the few whose calls collide 3 kB more. Results of further circuits are dropped, so they do not
	// open, until a counted circuit has had no call for two windows.
	maxCounted    = 1 << 17
	counterShards = 64 // sweeping one shard blocks calls only briefly
	// readBatch is how many circuits a poll reads before it releases the lock for calls.
	readBatch = 128
	// maxCollisions is how often calls may collide in a bucket of a slot before the slot gets stripes.
	maxCollisions = 64
)

// Counter counts how the calls of one process ended, for each circuit, over a sliding window. Its
// [Counter.Poll] is a [PollFunc]. A manager without Config.Poll creates a Counter. In a fleet, a
// Counter does not see the calls of other processes.
//
// A circuit takes about 1.4 kB and its key, until it has had no call for two windows. A circuit
// whose calls on several processors often collide takes up to 3 kB more. A Counter counts about
// 130,000 circuits at once. It drops the results of further circuits, so these do not open: see
// [Counter.Dropped].
type Counter struct {
	span    time.Duration
	created time.Time
	seed    maphash.Seed
	dropped atomic.Uint64
	parts   [counterShards]counterPart
}

// counterPart holds a share of the circuits.
type counterPart struct {
	mu    sync.Mutex
	slots map[Key]*slot
	swept time.Duration
}

// NewCounter returns a counter with a window of span, which must be the manager's
// ObservabilityWindow. The shortest span is 1 ms.
func NewCounter(span time.Duration) *Counter {
	c := &Counter{span: max(span, time.Millisecond), created: time.Now(), seed: maphash.MakeSeed()}
	for i := range c.parts {
		c.parts[i].slots = map[Key]*slot{}
	}
	return c
}

// Success counts a successful call. Do not call it for calls through a [Circuit] or a [Permit],
// which count themselves. In ModeShadow, leave out calls that began while [Manager.Status] had the
// state Open: they are no probes.
func (c *Counter) Success(k Key) { c.add(c.slot(k), window.Accepted) }

// Failure counts a failed call.
func (c *Counter) Failure(k Key) { c.add(c.slot(k), window.Rejected) }

// Dropped returns how many results were not counted, because more than about 130,000 circuits had
// calls within two windows.
func (c *Counter) Dropped() uint64 { return c.dropped.Load() }

func (c *Counter) part(k Key) *counterPart {
	return &c.parts[maphash.Comparable(c.seed, k)%counterShards]
}

// add counts one result in a column of the window. It drops the result if s is nil.
func (c *Counter) add(s *slot, column int) {
	if s == nil {
		c.dropped.Add(1)
		return
	}
	now := time.Since(c.created)
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
	if n := cell.Load(); !cell.CompareAndSwap(n, n+1) {
		s.collide(cell)
	}
}

// slot returns the slot of a circuit. If the part is full, it first removes idle circuits. It
// returns nil if there is no room.
func (c *Counter) slot(k Key) *slot {
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[k]; s != nil {
		return s
	}
	now := time.Since(c.created)
	if len(p.slots) >= maxCounted/counterShards {
		c.sweep(p, now)
	}
	if len(p.slots) >= maxCounted/counterShards {
		return nil
	}
	s := &slot{span: c.span, single: newSlotWindow(c.span, 1), seen: now}
	p.slots[k] = s
	return s
}

// sweep removes idle circuits, at most once per bucket.
func (c *Counter) sweep(p *counterPart, now time.Duration) {
	if now-p.swept < c.span/counterBuckets {
		return
	}
	p.swept = now
	for k, s := range p.slots {
		c.forget(p, k, s, s.read(now), now)
	}
}

// forget removes a circuit if it is idle, and reports whether it did. A circuit is idle if no result
// was in its window for one window. So its last call was more than one window ago.
func (c *Counter) forget(p *counterPart, k Key, s *slot, n window.Counts, now time.Duration) bool {
	if n != (window.Counts{}) {
		s.seen = now
	}
	if now-s.seen <= c.span {
		return false
	}
	s.removed.Store(true)
	delete(p.slots, k)
	return true
}

// reset discards a circuit's results, because its state has changed.
func (c *Counter) reset(k Key) {
	p := c.part(k)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[k]; s != nil {
		_, s.mark = s.totals(time.Since(c.created))
	}
}

// Poll implements [PollFunc]. It counts results within the counter's window and after the last
// change of the circuit. The manager reports changes to the counter. Calls that ModeShadow lets through
// an open [Circuit] are no probes, so they do not count.
func (c *Counter) Poll(_ context.Context, q PollQuery) (map[Key]PollResult, error) {
	now := time.Since(c.created)
	results := map[Key]PollResult{}
	for i := range c.parts {
		c.collect(&c.parts[i], now, q, results)
	}
	return results, nil
}

// collect adds the results of a part. It removes idle circuits on the way.
func (c *Counter) collect(p *counterPart, now time.Duration, q PollQuery, results map[Key]PollResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	read := 0
	for k, s := range p.slots {
		n := s.read(now)
		r := PollResult{Failures: float64(n.Rejected), Successes: float64(n.Accepted)}
		if _, asked := q.Since[k]; !c.forget(p, k, s, n, now) && (asked || r.Failures >= q.MinFailures) {
			results[k] = r
		}
		if read++; read%readBatch == 0 { // last in the loop: s may be removed meanwhile
			p.mu.Unlock()
			runtime.Gosched() // without it, waiting calls would not get the lock
			p.mu.Lock()
		}
	}
}

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

	// Guarded by counterPart.mu.
	seen time.Duration // last time that a result was in the window
	mark window.Counts // totals at the last change of the circuit; earlier results do not count
}

// newSlotWindow returns an empty window. If stripes is 0, the processors decide their number.
func newSlotWindow(span time.Duration, stripes int) *window.Window {
	return window.New(window.Shape{Span: span, Buckets: counterBuckets, Rows: 1, Stripes: stripes})
}

// collide counts a result that collided. After maxCollisions in one bucket the slot gets stripes.
func (s *slot) collide(cell *atomic.Uint64) {
	cell.Add(1)
	if s.collisions.Add(1) >= maxCollisions {
		s.striped.CompareAndSwap(nil, newSlotWindow(s.span, 0))
	}
}

func (s *slot) totals(now time.Duration) (recent, ever window.Counts) {
	var in, all [2]window.Counts
	for i, w := range []*window.Window{s.single, s.striped.Load()} {
		if w != nil {
			w.ReadAt(now, window.Reading{Span: in[i : i+1], Ever: all[i : i+1]})
		}
	}
	return window.Sum(in[:]), window.Sum(all[:])
}

// read returns the results within the window and after the last change of the circuit.
func (s *slot) read(now time.Duration) window.Counts {
	recent, ever := s.totals(now)
	ever = ever.Minus(s.mark)
	return window.Counts{Accepted: min(recent.Accepted, ever.Accepted), Rejected: min(recent.Rejected, ever.Rejected)}
}
