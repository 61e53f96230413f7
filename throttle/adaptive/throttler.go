package adaptive

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The columns of the window.
const (
	accepts          = window.Accepted
	backendThrottled = window.Rejected // sent, and rejected by the backend
	locallyThrottled = window.Shed     // not sent
)

// Throttler decides which calls to shed before they are sent. Create one per backend with [New].
// All methods are safe for concurrent use. A nil or zero Throttler throttles and counts nothing.
type Throttler struct {
	ratio   float64
	padding float64
	base    time.Time
	now     func() time.Time
	rand    func() float64
	window  *window.Window
	// needsClock is false if the window holds no rejected and no shed call. P is 0 then.
	needsClock atomic.Bool
	_          [64]byte // the fields above are read by every call, those below are written
	cached     cachedProbability
}

// New returns a Throttler. If fields of c are invalid, it returns an error that names each of them,
// its value and its range.
func New(c Config) (*Throttler, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	t := &Throttler{
		ratio:   c.RatioForAccepts,
		padding: c.RequestsPadding,
		now:     c.Now,
		rand:    c.Rand,
		window:  window.New(window.Shape{Span: c.Duration, Buckets: c.Bins, Rows: 1}),
	}
	t.base = time.Now()
	if t.now != nil {
		t.base = t.now()
	}
	return t, nil
}

// ShouldThrottle reports whether to shed the next call. Call it once before each call.
//   - If it returns true, do not make the call and register nothing: ShouldThrottle has counted it.
//     Return an error that wraps throttle.ErrShed.
//   - If it returns false, make the call, and register its result with [Throttler.Accepted] or
//     [Throttler.Throttled].
func (t *Throttler) ShouldThrottle() bool {
	if t == nil || !t.needsClock.Load() {
		return false
	}
	t.rollWindow(t.elapsed())
	p := t.probability()
	if p <= 0 || t.draw() >= p {
		return false
	}
	t.count(locallyThrottled)
	return true
}

// RegisterBackendResponse records the result of a call that ShouldThrottle let through. Throttled
// is true if the backend rejected the call because it was out of capacity. It is false for every
// other result, including ordinary errors. [Throttler.Accepted] and [Throttler.Throttled] do the
// same, and are harder to confuse.
func (t *Throttler) RegisterBackendResponse(throttled bool) {
	if throttled {
		t.Throttled()
		return
	}
	t.Accepted()
}

// Accepted records that the backend accepted a call, like RegisterBackendResponse(false).
func (t *Throttler) Accepted() { t.register(accepts) }

// Throttled records that the backend rejected a call because it was out of capacity, like
// RegisterBackendResponse(true).
func (t *Throttler) Throttled() { t.register(backendThrottled) }

// RejectionProbability returns the probability with which a call would be throttled now. It is
// computed at each call, so it falls while no calls are made.
func (t *Throttler) RejectionProbability() float64 {
	return t.Stats().Probability
}

// Stats are the counters of a [Throttler] and its present probability.
type Stats struct {
	_           struct{} // keyed literals only: fields will be added
	Probability float64  // of throttling the next call: RejectionProbability
	Window      Counts   // within the last Duration
	Total       Counts   // since New; never decreases
}

// Counts are numbers of calls. Calls in flight are not included.
type Counts struct {
	Accepted uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // by ShouldThrottle
}

// Requests returns the number of all calls: the requests of the formula.
func (c Counts) Requests() uint64 {
	return c.Accepted + c.refused()
}

// refused returns the number of calls that the backend did not serve.
func (c Counts) refused() uint64 {
	return c.Rejected + c.Shed
}

// Stats returns the present statistics. They are exact: they include every call that is registered.
func (t *Throttler) Stats() Stats {
	if t == nil || t.window == nil {
		return Stats{}
	}
	t.rollWindow(t.elapsed())
	recent, total := t.sum()
	return Stats{Probability: t.probabilityOf(recent), Window: recent, Total: total}
}

// register counts the result of a call, at the present time.
func (t *Throttler) register(column int) {
	if t == nil || t.window == nil {
		return
	}
	t.rollWindow(t.elapsed())
	t.count(column)
}

// count adds one to a column. It counts a refused call before it sets needsClock: see
// clearNeedsClock. It counts each call before the event: see refresh.
func (t *Throttler) count(column int) {
	t.window.Row(t.window.Pick(), 0)[column].Add(1)
	if t.needsClock.Load() {
		t.cached.events.Add(1)
		return
	}
	if column != accepts {
		t.needsClock.Store(true)
		t.cached.events.Add(1)
	}
}

// sum returns the counts of the window and the totals, at the same instant.
func (t *Throttler) sum() (recent, total Counts) {
	var r, e [1]window.Counts
	t.window.Read(window.Reading{Span: r[:], Ever: e[:]})
	return countsOf(r[0]), countsOf(e[0])
}

// total returns the counts since New.
func (t *Throttler) total() Counts {
	var e [1]window.Counts
	t.window.Ever(e[:])
	return countsOf(e[0])
}

func countsOf(c window.Counts) Counts {
	return Counts{Accepted: c.Accepted, Rejected: c.Rejected, Shed: c.Shed}
}

// draw returns a random number in [0, 1).
func (t *Throttler) draw() float64 {
	if t.rand == nil {
		return rand.Float64()
	}
	return t.rand()
}

// elapsed returns the time since New. The base is taken in New and not when the package starts, so
// that the throttler works in a testing/synctest bubble.
func (t *Throttler) elapsed() time.Duration {
	if t.now == nil {
		return time.Since(t.base)
	}
	return t.now().Sub(t.base)
}

const (
	// maxEvents is the largest number of events after which the probability is refreshed. The end
	// of a bin refreshes it too.
	maxEvents = 16
	// requestsPerEvent is the number of requests in the window for each event that the probability
	// may be old. With fewer requests every decision is exact.
	requestsPerEvent = 64
)

// cachedProbability is the probability of decisions, and when to refresh it. To sum up the window
// for each decision would cost more than the rest of it, and make goroutines wait for each other.
type cachedProbability struct {
	bits       atomic.Uint64 // math.Float64bits of the probability
	refreshAt  atomic.Uint64 // number of events at which the probability is out of date
	_          [48]byte
	events     atomic.Uint64 // while needsClock; the end of a bin counts as maxEvents
	refreshing sync.Mutex    // held during a refresh
}

// rollWindow closes the window's bin if it has ended, and makes the probability out of date. Call
// it before any other method that may close a bin.
func (t *Throttler) rollWindow(now time.Duration) {
	if t.window.Due(now) {
		t.window.Roll(now)
		t.cached.events.Add(maxEvents)
	}
}

// probability returns the cached probability, after a refresh if it is out of date.
func (t *Throttler) probability() float64 {
	if t.cached.events.Load() >= t.cached.refreshAt.Load() {
		t.refresh()
	}
	return math.Float64frombits(t.cached.bits.Load())
}

// refresh computes the probability, unless another goroutine does. It reads the events before the
// window: an event that the sums do not include then still counts towards the next refresh.
func (t *Throttler) refresh() {
	if !t.cached.refreshing.TryLock() {
		return
	}
	defer t.cached.refreshing.Unlock()
	events := t.cached.events.Load()
	recent, total := t.sum()
	t.cached.bits.Store(math.Float64bits(t.probabilityOf(recent)))
	t.cached.refreshAt.Store(events + lifetime(recent))
	if recent.refused() == 0 {
		t.clearNeedsClock(total)
	}
}

// lifetime returns the number of events after which a probability must be refreshed.
func lifetime(recent Counts) uint64 {
	if recent.refused() == 0 {
		return 1
	}
	return 1 + min(recent.Requests()/requestsPerEvent, maxEvents-1)
}

// clearNeedsClock clears needsClock, unless a call was refused since the totals were read. It
// clears first and checks then, while count counts first and sets needsClock then. So at least one
// of them sees the other.
func (t *Throttler) clearNeedsClock(total Counts) {
	t.needsClock.Store(false)
	if now := t.total(); now.refused() != total.refused() {
		t.needsClock.Store(true)
	}
}

// probabilityOf returns the probability for the counts of a window.
func (t *Throttler) probabilityOf(recent Counts) float64 {
	return throttleProbability(float64(recent.Requests()), float64(recent.Accepted), t.ratio, t.padding)
}

// maxProbability is the largest number below 1. Some calls are always sent.
const maxProbability = 1 - 1.0/(1<<53)

// throttleProbability is the formula. Its result is at least 0 and less than 1.
func throttleProbability(requests, accepts, ratio, padding float64) float64 {
	return min(max(0, (requests-ratio*accepts)/(requests+padding)), maxProbability)
}
