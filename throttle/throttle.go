package throttle

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/decision"
	"github.com/spillway-go/spillway/throttle/internal/feedback"
	"github.com/spillway-go/spillway/throttle/internal/processor"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// bucketsPerWindow is the number of buckets of the window.
	bucketsPerWindow = 120
	// recentBuckets is the number of buckets that Tiered calls recent.
	recentBuckets = bucketsPerWindow / recentPart
	// minEventsPerRefresh is the number of rejected or maybe shed calls after which a quiet throttle
	// computes its decisions again before the bucket ends. Fewer rejections shed nothing until then.
	minEventsPerRefresh = 16
)

// A Throttle protects one backend: it sheds the calls that the backend could not serve. Create one
// per backend with [New]. All methods are safe for concurrent use. Calls on a nil or zero Throttle
// return an error.
type Throttle struct {
	name            string
	key             string // in its Group; empty outside one
	priorities      int
	policy          Policy
	span            time.Duration
	base            time.Time
	now             func() time.Time
	classifier      Classifier
	canceledAfter   atomic.Int64 // a time.Duration of the settings in force; 0: off
	invalidPriority func(Priority, int) (Priority, error)
	hooks           Hooks
	hasCallHooks    bool               // Shed, Started, Finished or FellBack is set
	shedErrs        [numCauses][]error // by priority
	tenantErrs      [numCauses][]error // of tenants that take more than their share
	tenants         tenants
	window          *window.Window
	counters        []outcomeCounters
	tuning          tuned.Settings[Tuning, Patch]
	watch           atomic.Pointer[watch] // nil without Tuning.Slow and SlowAuto
	watching        sync.Mutex            // held to replace watch
	slowTotals      atomic.Pointer[slowCounters]
	local           atomic.Pointer[processor.Demand] // of the calls that this process serves; nil if the wait for a processor sheds none
	received        atomic.Pointer[feedback.State]   // of the backend's load reports; nil before the first
	random          func() float64                   // Config.Rand
	policyShare     atomic.Uint64                    // of the calls that the policy sheds, as bits
	tells           atomic.Bool                      // LoadReport was called
	serves          atomic.Bool                      // it has had calls that this process serves
	exempt          atomic.Uint64                    // calls of Exempt
	closed          atomic.Bool
	callPool        sync.Pool
	decisions       decision.Cache
	target          float64  // Config.TargetRejection; 0 for SRE
	monitor         *monitor // of Tiered; one refresh at a time uses it
	stance          atomic.Pointer[stance]
	policyChange    atomic.Pointer[PolicyEvent] // that no hook was called for yet
}

// New returns a throttle. If c is invalid, it returns an error that has every invalid field, its
// value and its range.
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
	if c.Now != nil {
		stripes = 1 // a simulation gives the same result each time, wherever its stack is
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
		classifier:      c.Classify,
		invalidPriority: c.InvalidPriority,
		random:          c.Rand,
		hooks:           c.Hooks,
		hasCallHooks:    c.Hooks.Shed != nil || c.Hooks.Started != nil || c.Hooks.Finished != nil || c.Hooks.FellBack != nil,
		shedErrs:        shedErrors(&c, key, false),
		tenantErrs:      shedErrors(&c, key, true),
		tenants:         tenants{weight: c.Tenants.Weight},
		window:          w,
		counters:        make([]outcomeCounters, w.Stripes()),
		callPool:        sync.Pool{New: func() any { return new(pooledCall) }},
	}
	if c.Policy == Tiered {
		t.target, t.monitor = c.TargetRejection, newMonitor(c.Window)
	}
	t.stance.Store(&stance{background: max(0, c.Background)})
	t.decisions.Init(decision.Config{
		Window: w, Rows: c.Priorities, Recent: c.Policy == Tiered, MinEvents: minEventsPerRefresh,
		Compute: t.computeDecisions, Rand: c.Rand,
	})
	t.tuning.Init(c.tuning())
	t.base = time.Now()
	if t.now != nil {
		t.base = t.now()
	}
	t.applyTuning()
	if t.hooks.Created != nil {
		t.hooks.Created(t)
	}
	return t, nil
}

func (t *Throttle) valid() bool { return t != nil && t.window != nil }

// Must returns value, or panics if err is not nil. It is for the constructors of this module, such
// as [New] and [NewGroup], when the program starts and its settings are constants:
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

// Name returns the name of the throttle.
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

// Priorities returns the number of priorities.
func (t *Throttle) Priorities() int {
	if t == nil {
		return 0
	}
	return t.priorities
}

// RejectionProbability returns the probability that a call of priority p is shed now. It is
// computed for each call of the method, so it falls while no calls come. Calls use a probability
// that is up to a 120th of the window older, see internal/decision. In ModeShadow and ModeOff
// it is the probability that ModeEnforce would use.
func (t *Throttle) RejectionProbability(p Priority) float64 {
	if !t.valid() {
		return 0
	}
	p, _ = ClampPriority(p, t.priorities)
	_, _, estimates := t.snapshot()
	return estimates[p].probability
}

// snapshot sums the window up to now and returns the estimates of the policy for it. An alert may be over
// without a call that has noticed that.
func (t *Throttle) snapshot() ([]window.Counts, *stance, []estimate) {
	now := t.elapsed()
	n := t.priorities
	counts := make([]window.Counts, 3*n)
	r := window.Reading{Span: counts[:n], Recent: counts[n : 2*n], Ever: counts[2*n:]}
	estimates := make([]estimate, t.priorities)
	if t.stance.Load().inAlert() {
		t.decisions.Refresh(now)
	}
	s := t.stance.Load() // before the totals, which are never less than those that it remembers
	t.window.ReadAt(now, r)
	t.estimate(r, t.tuning.Load(), s, estimates)
	t.obey(estimates, now)
	return r.Span, s, estimates
}

// Close ends the telemetry of the throttle: it calls the Closed hook, and no hooks are called for
// calls that begin later. Such calls still work. Hooks are called for calls in flight until they
// end. Close is idempotent and always returns nil.
func (t *Throttle) Close() error {
	if !t.valid() || t.closed.Swap(true) {
		return nil
	}
	if t.hooks.Closed != nil {
		t.hooks.Closed(t)
	}
	return nil
}

// elapsed returns the time since New. The base is taken in New, not at package level, so that
// testing/synctest controls it.
func (t *Throttle) elapsed() time.Duration {
	if t.now == nil {
		return time.Since(t.base)
	}
	return t.now().Sub(t.base)
}
