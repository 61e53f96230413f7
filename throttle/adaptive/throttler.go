package adaptive

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

// Throttler advises a client which calls to give up before they are sent. Make one per backend with [New]; all methods are safe for
// concurrent use. A nil or zero Throttler throttles nothing and counts nothing.
type Throttler struct {
	ratio   float64
	padding float64
	base    time.Time
	now     func() time.Time
	rand    func() float64
	window  *window.Window
	watched atomic.Bool // the window may hold a refusal; as long as it holds none, P is 0
	_       [64]byte    // keep what every call reads away from what busy ones write
	odds    odds
}

// New returns a throttler, or an error that names every field of c that is out of range, with its value and its range.
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

// ShouldThrottle reports whether the next call should be given up, as if the backend had refused it. Ask once before each
// call. After true do not make the call, and register nothing: it has been counted. After false make it,
// and tell by [Throttler.Accepted] or [Throttler.Throttled] what the backend said.
func (t *Throttler) ShouldThrottle() bool {
	if t == nil || !t.watched.Load() {
		return false
	}
	t.keepUp(t.elapsed())
	p := t.recentProbability()
	if p <= 0 || t.draw() >= p {
		return false
	}
	t.count(locallyThrottled)
	return true
}

// RegisterBackendResponse tells how the backend answered a call that ShouldThrottle let through: throttled is true if it refused
// the call for want of capacity, and false for every other answer, ordinary errors included. The bool is
// easily passed the wrong way round; [Throttler.Accepted] and [Throttler.Throttled] say the same in words.
func (t *Throttler) RegisterBackendResponse(throttled bool) {
	if throttled {
		t.Throttled()
		return
	}
	t.Accepted()
}

// Accepted tells that the backend accepted a call: RegisterBackendResponse(false).
func (t *Throttler) Accepted() { t.register(accepts) }

// Throttled tells that the backend refused a call for want of capacity: RegisterBackendResponse(true).
func (t *Throttler) Throttled() { t.register(backendThrottled) }

// RejectionProbability returns the probability with which a call would be throttled at this instant. It is computed anew each
// time, so it falls while no calls come.
func (t *Throttler) RejectionProbability() float64 {
	return t.Stats().Probability
}

// register counts the backend's answer at the time at which it is known.
func (t *Throttler) register(column int) {
	if t == nil || t.window == nil {
		return
	}
	t.keepUp(t.elapsed())
	t.count(column)
}

// draw returns a number in [0, 1).
func (t *Throttler) draw() float64 {
	if t.rand == nil {
		return rand.Float64()
	}
	return t.rand()
}

// elapsed is the time since the throttler was made. A base taken in New and not at the package's beginning is what lets
// testing/synctest govern it.
func (t *Throttler) elapsed() time.Duration {
	if t.now == nil {
		return time.Since(t.base)
	}
	return t.now().Sub(t.base)
}
