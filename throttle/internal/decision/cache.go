// Package decision caches the decisions that a policy computes from a window.
//
// To sum up a window costs as much as several calls. So calls use cached decisions. [Cache] has two
// questions to answer for each call: does the call need a decision at all, and is the cached one
// fresh enough?
//
// # Does the call need a decision?
//
// A call is refused if the backend rejects it or the throttle sheds it. As long as the window holds
// no refused call, every probability of a policy is 0, and time cannot change that.
// [Cache.NeedsDecision] is false then, and the call is admitted without a look at the clock or at a
// decision. It is true after a refresh that computed another probability: a load report may have changed it.
//
// # Is the decision fresh enough?
//
// Calls leave the window when a bucket ends. The first call after that computes the decisions again.
// If other calls come meanwhile, they use the old ones, but they wait if these are older than a
// bucket. Within a bucket the decisions are computed again after some events. An event is a call to
// which a decision above 0 applies, or a call that the backend rejected; one call may be both.
//   - If the window holds many requests, after N events of one stripe. N is at most 128, and so small
//     that N events of every stripe are less than 2 % of the requests.
//   - If N would be less than 16, after 16 events of all stripes together, or fewer: see
//     [Config.MinEvents].
//
// # What processors share
//
// Between two refreshes a call writes only to its own stripe. In a quiet throttle each event reads
// the counters of all stripes.
package decision

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// MaxRows is the largest number of rows of a Cache.
const MaxRows = 16

const (
	// A stripe refreshes after requests/(requestsPerEvent*stripes) events. Fewer stripes count as
	// fewStripes.
	requestsPerEvent = 64
	fewStripes       = 4
	// The limits of this number. If it were less, the events of all stripes are added up.
	minInterval = 16
	maxInterval = 128
	// outdated is a time that is over, whatever the time is.
	outdated = math.MinInt64
)

// Config describes a Cache. Window and Compute are required.
type Config struct {
	Window *window.Window
	Rows   int  // of the window, at most MaxRows
	Recent bool // Compute needs Reading.Recent
	// MinEvents is the least number of events between two refreshes, at most 16. With 1, decisions
	// from few requests are exact. With more, the first calls after a rejection are not shed.
	MinEvents uint64
	// Compute stores the decision for each row. If the reading holds no refused call, a probability
	// above 0 applies only after a Refresh. One goroutine calls it at a time.
	Compute func(r window.Reading, decisions []Packed)
	Rand    func() float64 // draws, in [0, 1); nil for generators of the Cache
}

// Cache holds one decision for each row of a window. Prepare it with Init before use. All other
// methods are safe for concurrent use.
type Cache struct {
	window  *window.Window
	compute func(r window.Reading, decisions []Packed)
	rand    func() float64
	seed    uint64
	stripes []stripe

	minEvents uint64 // of Config

	// The next fields change rarely. A refresh stores them only if they change, because each call
	// reads them.
	holdsRefused atomic.Bool   // the window may hold a refused call, or a probability is above 0
	missed       atomic.Bool   // an event came during a refresh, which may have read the window before
	mask         atomic.Uint64 // a stripe refreshes if events&mask is 0; mask 0: if the sum of all events is large enough
	validUntil   atomic.Int64  // end of the bucket of the last refresh, or outdated

	_         [64]byte
	decisions [MaxRows]atomic.Uint64
	eventsAt  atomic.Uint64 // events of all stripes at the last refresh

	refreshing sync.Mutex
	// The fields below are guarded by refreshing.
	reading window.Reading
	results []Packed
	ever    []window.Counts
}

// stripe counts the events of the goroutines that pick it. It fills two cache lines, because
// processors fetch pairs.
type stripe struct {
	events atomic.Uint64
	_      [120]byte
}

// Init prepares a cache for an empty window: every probability is 0.
func (c *Cache) Init(config Config) {
	n := config.Rows
	c.window, c.compute, c.rand, c.seed = config.Window, config.Compute, config.Rand, rand.Uint64()
	c.minEvents, c.stripes = config.MinEvents, make([]stripe, c.window.Stripes())
	c.reading = window.Reading{Span: make([]window.Counts, n), Ever: make([]window.Counts, n)}
	if config.Recent {
		c.reading.Recent = make([]window.Counts, n)
	}
	c.results, c.ever = make([]Packed, n), make([]window.Counts, n)
	c.validUntil.Store(int64(c.window.Ends()))
}

// NeedsDecision reports whether calls need a decision, and so the time. If not, every probability is
// 0.
func (c *Cache) NeedsDecision() bool { return c.holdsRefused.Load() }

// Decide returns the decision for a row at now, and whether the draw is to shed the call. Call it if
// NeedsDecision is true. The caller counts a shed call in the window, and then calls NoteRefused.
func (c *Cache) Decide(row, stripe int, now time.Duration) (p Packed, shed bool) {
	p, draw := c.Draw(row, stripe, now)
	return p, p.Sheds(draw)
}

// Draw is Decide for a caller that may change the probability before it looks whether the draw sheds the
// call. If the probability is 0, it must not.
func (c *Cache) Draw(row, stripe int, now time.Duration) (p Packed, draw uint64) {
	if c.Due(now) {
		c.Roll(now)
	}
	if p = c.Load(row); p.units() == 0 {
		return p, 0
	}
	event, due := c.countEvent(stripe)
	if due {
		c.refreshAfterEvents()
		p = c.Load(row)
	}
	return p, c.draw(stripe, event)
}

// NoteRejected must be called after a call was counted as rejected.
func (c *Cache) NoteRejected(stripe int) {
	c.NoteRefused()
	if _, due := c.countEvent(stripe); due {
		c.refreshAfterEvents()
	}
}

// NoteRefused must be called after a call was counted as shed. Decide has counted the event.
func (c *Cache) NoteRefused() {
	if !c.holdsRefused.Load() {
		c.holdsRefused.Store(true)
	}
}

// Due reports whether the bucket of the last refresh has ended. Call Roll then, before a call is
// counted. Due does not ask the window, because reading statistics moves the window without a
// refresh.
func (c *Cache) Due(now time.Duration) bool {
	return c.window.Over(time.Duration(c.validUntil.Load()), now)
}

// Roll closes the buckets of the window that have ended at now, and refreshes the decisions. It does
// not wait for another refresh, unless the decisions are older than a bucket.
func (c *Cache) Roll(now time.Duration) {
	until := c.validUntil.Load()
	c.window.Roll(now)
	if !c.refreshing.TryLock() {
		if until == outdated || int64(now-c.window.Width()) < until {
			return
		}
		c.refreshing.Lock()
		if c.validUntil.Load() != until {
			c.unlock() // the other refresh has done it
			return
		}
	}
	c.refreshAndUnlock()
}

// Refresh computes the decisions again, for example because settings have changed.
func (c *Cache) Refresh(now time.Duration) {
	c.window.Roll(now)
	c.refreshing.Lock()
	c.refreshAndUnlock()
}

// Load returns the decision of the last refresh for a row.
func (c *Cache) Load(row int) Packed { return Packed(c.decisions[row].Load()) }

// countEvent counts an event of a stripe. It returns the number of the event, and whether
// refreshAfterEvents is due. It is inlined.
func (c *Cache) countEvent(stripe int) (event uint64, due bool) {
	event = c.stripes[stripe].events.Add(1)
	return event, event&c.mask.Load() == 0
}

// refreshAfterEvents refreshes the decisions, unless few requests let all stripes together count, and
// these had too few events. If another goroutine refreshes now, this call uses the decisions that
// there are, and the next call refreshes.
func (c *Cache) refreshAfterEvents() {
	if c.mask.Load() == 0 {
		if before := c.eventsAt.Load(); c.events() < before+c.minEvents {
			return
		}
	}
	if !c.refreshing.TryLock() {
		c.missed.Store(true)
		if !c.refreshing.TryLock() {
			return // the other goroutine looks at missed after its unlock
		}
	}
	c.refreshAndUnlock()
}

func (c *Cache) events() (sum uint64) {
	for i := range c.stripes {
		sum += c.stripes[i].events.Load()
	}
	return sum
}

// refreshAndUnlock computes the decisions from the window as it was last rolled.
func (c *Cache) refreshAndUnlock() {
	if c.missed.Load() {
		c.missed.Store(false)
	}
	until := c.window.Ends()
	if c.mask.Load() == 0 { // otherwise it is not used, and other processors write the counters
		c.eventsAt.Store(c.events())
	}
	c.window.Read(c.reading)
	c.compute(c.reading, c.results)
	sheds := false
	for row, p := range c.results {
		c.decisions[row].Store(uint64(p))
		sheds = sheds || p.units() > 0
	}
	if mask := c.interval() - 1; mask != c.mask.Load() {
		c.mask.Store(mask)
	}
	if sheds {
		c.NoteRefused()
	} else if window.Sum(c.reading.Span).Refused() == 0 {
		c.clearHoldsRefused()
	}
	if int64(until) != c.validUntil.Load() {
		c.validUntil.Store(int64(until))
	}
	c.unlock()
}

// unlock unlocks refreshing. If an event came meanwhile, the next call refreshes.
func (c *Cache) unlock() {
	c.refreshing.Unlock()
	if c.missed.Load() {
		c.validUntil.Store(outdated)
	}
}

// interval returns N for the reading, rounded down to a power of two. It returns 1 if N is less than
// minInterval: then the events of all stripes count.
func (c *Cache) interval() uint64 {
	counts := c.reading.Span
	if c.reading.Recent != nil {
		counts = c.reading.Recent
	}
	n := window.Sum(counts).Requests() / uint64(requestsPerEvent*max(fewStripes, len(c.stripes)))
	if n < minInterval {
		return 1
	}
	return 1 << (bits.Len64(min(n, maxInterval)) - 1)
}

// clearHoldsRefused clears the flag, unless a call was refused since the reading. It clears first and
// looks then, while callers count first and set the flag then. So one of the two notices the other.
func (c *Cache) clearHoldsRefused() {
	if !c.holdsRefused.Load() {
		return
	}
	c.holdsRefused.Store(false)
	c.window.Ever(c.ever)
	if window.Sum(c.ever).Refused() != window.Sum(c.reading.Ever).Refused() {
		c.holdsRefused.Store(true)
	}
}
