package throttle

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// bucketsPerWindow is in how many steps a throttle forgets.
	bucketsPerWindow = 120
	// recentBuckets is how many of them are recent.
	recentBuckets = bucketsPerWindow / recentPart
)

// Throttle sheds the calls that a struggling backend could not serve. Make one per backend with [New]; all methods are safe for
// concurrent use. Calls on a nil or zero Throttle return an error.
type Throttle struct {
	name            string
	key             string // in its Group; empty outside one
	priorities      int
	policy          Policy
	span            time.Duration
	base            time.Time
	now             func() time.Time
	rand            func() float64
	classifier      Classifier
	invalidPriority func(Priority, int) (Priority, error)
	hooks           Hooks
	listens         bool // somebody is told of calls
	shedErrs        []error
	window          *window.Window
	ledgers         []ledger
	tuning          atomic.Pointer[Tuning]
	closed          atomic.Bool
	tickets         sync.Pool
	gates           gates
	target          float64 // of rejections; 0 for SRE
}

// New returns a throttle, or an error that names every field of c that is out of range, with its value and its range.
func New(c Config) (*Throttle, error) {
	return newThrottle(c, "", 0)
}

// newThrottle returns a throttle with a key in its group and a number of stripes: 0 selects it by
// the number of processors.
func newThrottle(c Config, key string, stripes int) (*Throttle, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	shape := window.Shape{Span: c.Window, Buckets: bucketsPerWindow, Rows: c.Priorities, Stripes: stripes}
	if c.Policy == Tiered {
		shape.Recent = recentBuckets
	}
	w := window.New(shape)
	t := &Throttle{
		name:            c.Name,
		key:             key,
		priorities:      c.Priorities,
		policy:          c.Policy,
		span:            c.Window,
		now:             c.Now,
		rand:            c.Rand,
		classifier:      c.Classify,
		invalidPriority: c.InvalidPriority,
		hooks:           c.Hooks,
		listens:         c.Hooks.Shed != nil || c.Hooks.Started != nil || c.Hooks.Finished != nil || c.Hooks.FellBack != nil,
		shedErrs:        shedErrors(&c, key),
		window:          w,
		ledgers:         make([]ledger, w.Stripes()),
		tickets:         sync.Pool{New: func() any { return new(ticket) }},
		gates:           newGates(c.Priorities),
	}
	t.gates.until.Store(int64(w.Ends()))
	if c.Policy == Tiered {
		t.target = c.TargetRejection
		t.gates.bind()
	}
	t.tuning.Store(&Tuning{Ratio: c.Ratio, MinimumRate: c.MinimumRate, Mode: c.Mode})
	t.base = time.Now()
	if t.now != nil {
		t.base = t.now()
	}
	if t.hooks.Created != nil {
		t.hooks.Created(t)
	}
	return t, nil
}

// made reports whether t came from New.
func (t *Throttle) made() bool { return t != nil && t.window != nil }

// Must returns value, and panics with err if that is not nil. It is for what is made when the program starts, of settings that are part of
// it, by [New], [NewGroup] or any other constructor:
//
//	orders := throttle.Must(throttle.New(throttle.Config{Name: "orders"}))
//	transport := throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
//		Throttle: throttle.Config{Name: "backends"},
//	}))
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Name returns the throttle's name.
func (t *Throttle) Name() string {
	if t == nil {
		return ""
	}
	return t.name
}

// Key returns the throttle's key in its [Group], or "" if it is not a member of one.
func (t *Throttle) Key() string {
	if t == nil {
		return ""
	}
	return t.key
}

// RejectionProbability returns the probability with which a call of priority p would be shed at this instant. It is
// computed anew each time, so it falls while no calls come. In Shadow and Off it is what Enforce would do.
func (t *Throttle) RejectionProbability(p Priority) float64 {
	if !t.made() {
		return 0
	}
	p, _ = ClampPriority(p, t.priorities)
	_, verdicts := t.judge()
	return verdicts[p].probability
}

// judge adds up the window and returns what the policy says about it, exactly and now.
func (t *Throttle) judge() ([]window.Counts, []verdict) {
	now := t.elapsed()
	counts := make([]window.Counts, 2*t.priorities)
	r := window.Reading{Span: counts[:t.priorities], Recent: counts[t.priorities:]}
	verdicts := make([]verdict, t.priorities)
	t.window.ReadAt(now, r)
	t.decide(r, t.tuning.Load(), verdicts)
	return r.Span, verdicts
}

// retuned puts new values in force for the next call.
func (t *Throttle) retuned() {
	t.window.Roll(t.elapsed())
	t.gates.setting.Lock()
	t.setGates()
	t.gates.setting.Unlock()
}

// Close ends the throttle's telemetry: Closed is told, and of calls that begin later nothing is. They still work. Calls in
// flight are told to their end. It is idempotent, and always returns nil.
func (t *Throttle) Close() error {
	if !t.made() || t.closed.Swap(true) {
		return nil
	}
	if t.hooks.Closed != nil {
		t.hooks.Closed(t)
	}
	return nil
}

// elapsed is the time since the throttle was made. A base taken here and not at the package's beginning is what lets
// testing/synctest govern it.
func (t *Throttle) elapsed() time.Duration {
	if t.now == nil {
		return time.Since(t.base)
	}
	return t.now().Sub(t.base)
}
