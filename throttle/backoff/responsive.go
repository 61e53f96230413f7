package backoff

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Responsive is a delay that many workers share. Create one per service with [New]. All methods are
// safe for concurrent use. A nil context means context.Background(). Methods of a nil or zero
// Responsive return an error or the zero value.
type Responsive struct {
	config  Config // MaxInterval changes with the lock held
	tuning  tuned.Settings[Tuning, Patch]
	permits sync.Pool // of *permitState
	closed  chan struct{}
	closing atomic.Bool

	mu         sync.Mutex
	delay      delay
	queue      queue         // mode Pace
	lastCall   time.Time     // may be in the future, for a call that waits outside
	retryAt    time.Time     // end of the last Retry-After
	delaySlept bool          // SleepOnFailure: a worker has waited the present delay
	resets     uint64        // calls of Reset
	wake       chan struct{} // closed to wake all sleepers of mode Sleep; nil if there are none
	stats      Stats         // without Delay, which is that of delay
}

// New returns a Responsive without a delay. If fields of c are invalid, it returns an error that
// names each of them, its value and its range.
func New(c Config) (*Responsive, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &Responsive{config: c, closed: make(chan struct{}), stats: Stats{Name: c.Name, Mode: c.Mode}}
	r.tuning.Init(Tuning{MaxInterval: c.MaxInterval, shortest: c.InitialInterval})
	r.permits.New = func() any { return &permitState{} }
	r.delay.config = &r.config
	if h := c.Hooks.Created; h != nil {
		h(r)
	}
	return r, nil
}

// Must returns r, or panics if err is not nil. Use it for a Responsive that is created when the
// program starts.
func Must(r *Responsive, err error) *Responsive {
	if err != nil {
		panic(err)
	}
	return r
}

func (r *Responsive) valid() bool { return r != nil && r.closed != nil }

// checkArgs returns the context to use, or an error if New did not create r, or if the context has ended.
func (r *Responsive) checkArgs(ctx context.Context) (context.Context, error) {
	if !r.valid() {
		return ctx, errNil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return ctx, ctx.Err()
}

// Name returns Config.Name.
func (r *Responsive) Name() string {
	if r == nil {
		return ""
	}
	return r.config.Name
}

// Delay returns the present delay, without randomization.
func (r *Responsive) Delay() time.Duration {
	if !r.valid() {
		return 0
	}
	step := r.update(func() { r.resetIdleLocked(time.Now()) })
	return step.To
}

// Reset sets the delay to 0 and ends the effect of a Retry-After. Waiting calls proceed at once.
func (r *Responsive) Reset() {
	if !r.valid() {
		return
	}
	r.update(func() {
		r.delay.reset()
		r.retryAt = time.Time{}
		r.resets++
		r.wakeSleepers()
		r.queue.wakeFirst() // needed after a Retry-After without a delay, which is no step
	})
}

// Close ends all waits with [ErrClosed], and the telemetry of r. Afterwards Wait and Do return
// ErrClosed and make no call; a [Permit] that was granted before can still be Done. Close is
// idempotent, and always returns nil.
func (r *Responsive) Close() error {
	if !r.valid() || r.closing.Swap(true) {
		return nil
	}
	close(r.closed)
	if h := r.config.Hooks.Closed; h != nil {
		h(r)
	}
	return nil
}

// Stats are the counters of a [Responsive] since [New], and its present state.
type Stats struct {
	Name      string
	Mode      Mode
	Delay     time.Duration // without randomization
	Ups       uint64        // steps up
	Downs     uint64        // steps down
	Successes uint64        // calls that succeeded
	Throttled uint64        // calls that were throttled
	Ignored   uint64        // calls that were ignored
	Slept     uint64        // waits that did not end at once, without those that ended with an error
	Canceled  uint64        // waits that did not end at once, and ended with an error
	SleepTime time.Duration // time waited, Canceled included
	Waiting   int           // calls that wait at present
}

// Stats returns the counters and the present state.
func (r *Responsive) Stats() Stats {
	if !r.valid() {
		return Stats{}
	}
	r.resetIdle(time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.statsLocked()
}

func (r *Responsive) statsLocked() Stats {
	s := r.stats
	s.Delay = r.delay.interval
	return s
}

func (s *Stats) record(o Outcome) {
	switch {
	case o == Success:
		s.Successes++
	case o.IsThrottled():
		s.Throttled++
	default:
		s.Ignored++
	}
}

// update calls f with the lock held. If f changed the delay, it then calls Hooks.Stepped.
func (r *Responsive) update(f func()) StepEvent {
	r.mu.Lock()
	step := r.beginStep()
	f()
	r.endStep(&step)
	r.mu.Unlock()
	r.callStepped(step)
	return step
}

// beginStep returns an event with the delay before a possible step. The caller holds the lock.
func (r *Responsive) beginStep() StepEvent {
	return StepEvent{Responsive: r, From: r.delay.interval, steps: r.delay.steps}
}

// endStep completes the event of beginStep. If the delay changed, it counts the step and wakes the
// first waiter. The caller holds the lock.
func (r *Responsive) endStep(step *StepEvent) {
	step.To = r.delay.interval
	step.changed = r.delay.steps != step.steps
	if !step.changed {
		return
	}
	if step.To < step.From {
		r.stats.Downs++
	} else {
		r.stats.Ups++
	}
	r.queue.gap = r.delay.randomized(rand.Float64())
	if step.From == 0 || step.To == 0 { // there was no last turn, or reserved turns are void
		r.queue.last = time.Now()
	}
	r.queue.wakeFirst()
}

func (r *Responsive) callStepped(step StepEvent) {
	if h := r.config.Hooks.Stepped; h != nil && step.changed {
		h(step)
	}
}

// resetIdle resets a delay that is idle for Config.IdleReset, as a step of its own, and reports
// whether it did.
func (r *Responsive) resetIdle(now time.Time) bool {
	return r.update(func() { r.resetIdleLocked(now) }).changed
}

func (r *Responsive) resetIdleLocked(now time.Time) {
	idle := r.config.IdleReset
	waiting := !r.queue.empty() || r.stats.Waiting > 0
	if idle > 0 && r.delay.interval > 0 && !waiting && now.Sub(r.lastCall) >= idle {
		r.delay.reset()
	}
}

// touch records a call at a time, which may be in the future.
func (r *Responsive) touch(at time.Time) {
	if at.After(r.lastCall) {
		r.lastCall = at
	}
}
