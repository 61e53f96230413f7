package backoff

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Responsive is a delay that many workers share. Make it with [New]. All methods are safe for concurrent use. To them a nil context is
// context.Background(). One that did not come from New answers with an error, and has no delay.
type Responsive struct {
	config  Config
	slips   sync.Pool
	closed  chan struct{}
	closing atomic.Bool

	mu     sync.Mutex
	dial   dial
	line   line
	active time.Time // when somebody called last, or will after the delay that he was told, if there is a delay
	floor  time.Time // before which the service wants no call
	rested bool      // somebody has slept the present delay: for SleepOnFailure
	resets uint64
	bell   chan struct{} // closed to wake all who sleep by themselves; nil if nobody has lain down since
	tally  tally
}

// New returns a Responsive without a delay, or an error that names every field that is wrong, and its range.
func New(c Config) (*Responsive, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Up = c.growth()
	r := &Responsive{config: c, closed: make(chan struct{})}
	r.slips.New = func() any { return &slip{} }
	r.dial.config = &r.config
	if h := c.Hooks.Created; h != nil {
		h(r)
	}
	return r, nil
}

// Must returns the Responsive, or panics with the error: for those that are made when the program starts.
func Must(r *Responsive, err error) *Responsive {
	if err != nil {
		panic(err)
	}
	return r
}

// made reports whether r came from New.
func (r *Responsive) made() bool { return r != nil && r.closed != nil }

// sound returns the context to go on with, or the error of a Responsive that cannot be asked.
func (r *Responsive) sound(ctx context.Context) (context.Context, error) {
	if !r.made() {
		return ctx, errNil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	return ctx, nil
}

// Name returns what it was named.
func (r *Responsive) Name() string {
	if r == nil {
		return ""
	}
	return r.config.Name
}

// Delay returns the present delay, without noise.
func (r *Responsive) Delay() time.Duration {
	if !r.made() {
		return 0
	}
	step := r.change(func() { r.settle(time.Now()) })
	return step.To
}

// Reset forgets the delay, and until when the service wants no call. Whoever waits for either is let go.
func (r *Responsive) Reset() {
	if !r.made() {
		return
	}
	r.change(func() {
		r.dial.forget()
		r.floor = time.Time{}
		r.resets++
		r.ring()
		r.line.wakeFirst() // also if there was no delay, which is no step
	})
}

// Close ends all waiting, with [ErrClosed], and the telemetry. It is idempotent.
func (r *Responsive) Close() error {
	if !r.made() || r.closing.Swap(true) {
		return nil
	}
	close(r.closed)
	if h := r.config.Hooks.Closed; h != nil {
		h(r)
	}
	return nil
}

// change does something with the lock held, and tells of a step if one was made.
func (r *Responsive) change(something func()) StepEvent {
	r.mu.Lock()
	step := r.begin()
	something()
	r.end(&step)
	r.mu.Unlock()
	r.tell(step)
	return step
}

// begin notes the delay before something, with the lock held.
func (r *Responsive) begin() StepEvent {
	return StepEvent{Responsive: r, From: r.dial.interval, steps: r.dial.steps}
}

// end notes the delay after it, and counts a step. Whoever is first in line must look again.
func (r *Responsive) end(step *StepEvent) {
	step.To = r.dial.interval
	step.made = r.dial.steps != step.steps
	if !step.made {
		return
	}
	if step.To < step.From {
		r.tally.downs++
	} else {
		r.tally.ups++
	}
	r.line.gap = r.dial.noisy(rand.Float64())
	if step.From == 0 || step.To == 0 { // nobody has counted turns before, or what was given away ahead is no longer so
		r.line.last = time.Now()
	}
	r.line.wakeFirst()
}

// tell tells of a step, with no lock held.
func (r *Responsive) tell(step StepEvent) {
	if h := r.config.Hooks.Stepped; h != nil && step.made {
		h(step)
	}
}

// settle forgets a delay that nobody has asked for in a long time.
func (r *Responsive) settle(now time.Time) {
	idle := r.config.IdleReset
	if idle > 0 && r.dial.interval > 0 && r.line.empty() && r.tally.sleeping == 0 && now.Sub(r.active) >= idle {
		r.dial.forget()
	}
}

// forgotten reports whether the delay was forgotten just now, because nobody has asked for it in a long time.
func (r *Responsive) forgotten(now time.Time) bool {
	return r.change(func() { r.settle(now) }).made
}

// touch notes that somebody has called, or will.
func (r *Responsive) touch(at time.Time) {
	if at.After(r.active) {
		r.active = at
	}
}
