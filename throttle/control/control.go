package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/retry"
)

var (
	errNil      = errors.New("control: the Control is nil or was not made with New")
	errClosed   = errors.New("control: the Control is closed")
	errPath     = errors.New("control: Watch: path is empty")
	errWatches  = errors.New("control: Watch: another file is watched already")
	errServices = errors.New("control: services is set: a request is for one process, so want its throttles, breakers, buckets, backoffs and retries")
)

// maxMerged is the largest number of lines that requests may add.
const maxMerged = 1000

// Config configures a [Control]. Every zero field means its default.
type Config struct {
	// Hooks are called for changes. Default [DefaultHooks].
	Hooks Hooks
	// Labels are those of this process, such as service, cluster and team, for [Document].Services. Default: none.
	Labels map[string]string
}

// Control changes the settings of throttles, breakers, buckets, backoffs and retriers while they run. Make
// one per process with [New], before you make throttles, and give them its hooks. All methods are safe for
// concurrent use. Methods of a nil or zero Control return an error or the zero value.
type Control struct {
	hooks    Hooks
	labels   map[string]string
	done     chan struct{} // closed by Close; nil in a zero Control
	now      atomic.Pointer[state]
	families []family
	tunings  [throttle.NumSources][NumResults]atomic.Uint64
	panics   atomic.Uint64 // of hooks

	throttles kind[*throttle.Throttle, throttle.Tuning, throttle.Patch, *Throttle]
	breakers  kind[*breaker.Manager, breaker.Tuning, breaker.Patch, *Breaker]
	buckets   kind[*bucket.Limiter, bucket.Tuning, bucket.Patch, *Bucket]
	backoffs  kind[*backoff.Responsive, backoff.Tuning, backoff.Patch, *Backoff]
	retries   kind[*retry.Retrier, retry.Tuning, retry.Patch, *Retry]

	mu     sync.Mutex // held to replace the state; no hook is called with it
	closed bool
	timer  *time.Timer // of the next end of a line
	file   FileStatus
	reason string                   // of file.Error, or "": see withoutNumbers
	last   map[[2]string]LastChange // by kind and name
}

// New returns a Control that changes nothing yet.
func New(c Config) (*Control, error) {
	if err := checkLabels(c.Labels); err != nil {
		return nil, fmt.Errorf("control: Labels: %w", err)
	}
	ctl := &Control{hooks: defaultHooks.Or(c.Hooks), labels: maps.Clone(c.Labels), done: make(chan struct{}), last: map[[2]string]LastChange{}}
	ctl.now.Store(&state{})
	ctl.makeKinds()
	if h := ctl.hooks.Created; h != nil {
		h(ctl)
	}
	return ctl, nil
}

// makeKinds sets up the kinds.
func (c *Control) makeKinds() {
	fail := func(err error) { c.fail(context.Background(), throttle.SourceCode, err) }
	c.throttles.init("throttle", c.now.Load, fail, func(d *Document) *map[string]*Throttle { return &d.Throttles })
	c.breakers.init("breaker", c.now.Load, fail, func(d *Document) *map[string]*Breaker { return &d.Breakers })
	c.buckets.init("bucket", c.now.Load, fail, func(d *Document) *map[string]*Bucket { return &d.Buckets })
	c.backoffs.init("backoff", c.now.Load, fail, func(d *Document) *map[string]*Backoff { return &d.Backoffs })
	c.retries.init("retry", c.now.Load, fail, func(d *Document) *map[string]*Retry { return &d.Retries })
	c.families = []family{&c.throttles, &c.breakers, &c.buckets, &c.backoffs, &c.retries}
}

// valid reports whether c came from New.
func (c *Control) valid() bool { return c != nil && c.done != nil }

// ThrottleHooks returns the hooks for a throttle's Config. Join them with others by
// [throttle.JoinHooks], or make them the default with [throttle.SetDefaultHooks]. No hook of calls is
// set, so calls cost the same.
func (c *Control) ThrottleHooks() throttle.Hooks {
	if !c.valid() {
		return throttle.Hooks{}
	}
	return throttle.Hooks{Announced: c.throttles.announce, Created: c.throttles.join, Closed: c.throttles.leave}
}

// BreakerHooks returns the hooks for a breaker's Config, as ThrottleHooks does for a throttle.
func (c *Control) BreakerHooks() breaker.Hooks {
	if !c.valid() {
		return breaker.Hooks{}
	}
	return breaker.Hooks{Created: c.breakers.join, Closed: c.breakers.leave}
}

// BucketHooks returns the hooks for a limiter's Config, as ThrottleHooks does for a throttle.
func (c *Control) BucketHooks() bucket.Hooks {
	if !c.valid() {
		return bucket.Hooks{}
	}
	return bucket.Hooks{Created: c.buckets.join, Closed: c.buckets.leave}
}

// BackoffHooks returns the hooks for a backoff's Config, as ThrottleHooks does for a throttle.
func (c *Control) BackoffHooks() backoff.Hooks {
	if !c.valid() {
		return backoff.Hooks{}
	}
	return backoff.Hooks{Created: c.backoffs.join, Closed: c.backoffs.leave}
}

// RetryHooks returns the hooks for a Retrier's Config, as ThrottleHooks does for a throttle.
func (c *Control) RetryHooks() retry.Hooks {
	if !c.valid() {
		return retry.Hooks{}
	}
	return retry.Hooks{Announced: c.retries.announce, Created: c.retries.join, Closed: c.retries.leave}
}

// AddDefaultHooks joins the hooks of c with the default hooks of throttles, breakers, buckets,
// backoffs and retriers, so that those made later without Hooks are controlled too. Call it at the start of
// main, but after otelthrottle.Install and every SetDefaultHooks: both replace the default hooks.
func (c *Control) AddDefaultHooks() {
	throttle.SetDefaultHooks(throttle.JoinHooks(throttle.DefaultHooks(), c.ThrottleHooks()))
	breaker.SetDefaultHooks(breaker.JoinHooks(breaker.DefaultHooks(), c.BreakerHooks()))
	bucket.SetDefaultHooks(bucket.JoinHooks(bucket.DefaultHooks(), c.BucketHooks()))
	backoff.SetDefaultHooks(backoff.JoinHooks(backoff.DefaultHooks(), c.BackoffHooks()))
	retry.SetDefaultHooks(retry.JoinHooks(retry.DefaultHooks(), c.RetryHooks()))
}

// Apply replaces the document of earlier calls with d: all of it, or nothing if any of it is wrong.
// Then the error names each line that is wrong. If a file or HTTP sets the same setting, that stays
// in force. The context is that of the hooks.
func (c *Control) Apply(ctx context.Context, d Document) (Report, error) {
	report, err := c.replace(ctx, throttle.SourceApply, d, time.Time{})
	if err != nil && c.valid() {
		c.tunings[throttle.SourceApply][Refused].Add(1)
	}
	return report, err
}

// replace sets the document of a source, which was written at a time, or now if that is zero.
func (c *Control) replace(ctx context.Context, source throttle.Source, d Document, written time.Time) (Report, error) {
	return c.change(ctx, source, written, func(s *state, now time.Time) error {
		err := c.choose(&d, source, now)
		s.layers[source] = d
		return err
	})
}

// merge adds lines to the document of a source, and removes those that are nil, for the operator by.
func (c *Control) merge(ctx context.Context, source throttle.Source, lines Document, by string) (Report, error) {
	return c.change(ctx, source, time.Time{}, func(s *state, now time.Time) error {
		s.by = by
		err := c.prepare(&lines, source, now)
		if len(lines.Services) > 0 {
			err = errors.Join(err, errServices)
		}
		for _, k := range c.families {
			err = errors.Join(err, k.merge(&s.layers[source], &lines))
		}
		if n := s.layers[source].len(); n > maxMerged {
			err = errors.Join(err, fmt.Errorf("control: there are %d lines: want at most %d lines; end some", n, maxMerged))
		}
		return err
	})
}

func (c *Control) prepare(d *Document, source throttle.Source, now time.Time) error {
	var errs []error
	for _, k := range c.families {
		errs = append(errs, k.prepare(d, source, now))
	}
	return errors.Join(errs...)
}

// Close ends the watching of a file, and the ends of lines: what is in force stays. Apply and a POST to the
// handler return an error from then on. Close is idempotent and always returns nil.
func (c *Control) Close() error {
	if !c.valid() || !c.end() {
		return nil
	}
	if h := c.hooks.Closed; h != nil {
		h(c)
	}
	return nil
}

// end reports whether c was open.
func (c *Control) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	close(c.done)
	if c.timer != nil {
		c.timer.Stop()
	}
	return true
}

// fail counts a change that was refused, and calls the hook.
func (c *Control) fail(ctx context.Context, source throttle.Source, err error) {
	c.tunings[source][Refused].Add(1)
	if h := c.hooks.Failed; h != nil {
		c.call(func() { h(ctx, FailedEvent{Source: source, Err: err}) })
	}
}

// call calls a hook. Changes go on if it panics.
func (c *Control) call(hook func()) {
	defer func() {
		if recover() != nil {
			c.panics.Add(1)
		}
	}()
	hook()
}
