package adaptive

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/decision"
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
	ratio     float64
	padding   float64
	base      time.Time
	now       func() time.Time
	window    *window.Window
	decisions decision.Cache
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
	}
	shape := window.Shape{Span: c.Duration, Buckets: c.Bins, Rows: 1}
	if t.now != nil {
		shape.Stripes = 1 // a simulation gives the same result each time, wherever its stack is
	}
	t.window = window.New(shape)
	t.decisions.Init(decision.Config{
		Window: t.window, Rows: 1, MinEvents: 1, Compute: t.computeDecision, Rand: c.Rand,
	})
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
	if t == nil || !t.decisions.NeedsDecision() {
		return false
	}
	stripe := t.window.Pick()
	if _, shed := t.decisions.Decide(0, stripe, t.elapsed()); !shed {
		return false
	}
	t.window.Row(stripe, 0)[locallyThrottled].Add(1)
	t.decisions.NoteRefused()
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
	return c.Accepted + c.Rejected + c.Shed
}

// Stats returns the present statistics. They are exact: they include every call that is registered.
func (t *Throttler) Stats() Stats {
	if t == nil || t.window == nil {
		return Stats{}
	}
	var span, ever [1]window.Counts
	t.window.ReadAt(t.elapsed(), window.Reading{Span: span[:], Ever: ever[:]})
	return Stats{Probability: t.probability(span[0]), Window: countsOf(span[0]), Total: countsOf(ever[0])}
}

func (t *Throttler) register(column int) {
	if t == nil || t.window == nil {
		return
	}
	if now := t.elapsed(); t.decisions.Due(now) {
		t.decisions.Roll(now)
	}
	stripe := t.window.Pick()
	t.window.Row(stripe, 0)[column].Add(1)
	if column == backendThrottled {
		t.decisions.NoteRejected(stripe)
	}
}

func countsOf(c window.Counts) Counts {
	return Counts{Accepted: c.Accepted, Rejected: c.Rejected, Shed: c.Shed}
}

// elapsed returns the time since New. The base is taken in New and not when the package starts, so
// that the throttler works in a testing/synctest bubble.
func (t *Throttler) elapsed() time.Duration {
	if t.now == nil {
		return time.Since(t.base)
	}
	return t.now().Sub(t.base)
}

func (t *Throttler) computeDecision(r window.Reading, decisions []decision.Packed) {
	decisions[0] = decision.Pack(t.probability(r.Span[0]), 0)
}

func (t *Throttler) probability(c window.Counts) float64 {
	return throttleProbability(float64(c.Requests()), float64(c.Accepted), t.ratio, t.padding)
}

// throttleProbability is the formula. Its result is at least 0 and less than 1.
func throttleProbability(requests, accepts, ratio, padding float64) float64 {
	return min(max(0, (requests-ratio*accepts)/(requests+padding)), decision.Largest)
}
