package control

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// longestTimer is the longest time until the ends of lines are checked again: the system's clock
// may be set.
const longestTimer = time.Minute

// state is the lines of all sources. A stored state never changes.
type state struct {
	layers [throttle.NumSources]Document // that of throttle.SourceCode is empty
	by     string                        // whose request made this state, if one did
}

// change replaces the state, applies it and calls the hooks.
func (c *Control) change(ctx context.Context, source throttle.Source, written time.Time, edit func(*state, time.Time) error) (Report, error) {
	if !c.valid() {
		return Report{}, errNil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	report, err := c.store(source, written, edit)
	if err != nil {
		return Report{}, err
	}
	for _, changed := range report.Changes {
		for _, k := range c.families {
			k.refresh(changed)
		}
		c.tunings[changed.Source][changed.Result].Add(1)
	}
	if h := c.hooks.Tuned; h != nil {
		for _, changed := range report.Changes {
			c.call(func() { h(ctx, TunedEvent{changed}) })
		}
	}
	return report, nil
}

// store replaces the state if the lines of source are valid.
func (c *Control) store(source throttle.Source, written time.Time, edit func(*state, time.Time) error) (report Report, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return report, errClosed
	}
	before, now := c.now.Load(), time.Now()
	after := *before
	after.by = ""
	if err := edit(&after, now); err != nil {
		return report, err
	}
	var errs []error
	for _, k := range c.families {
		for i := range after.layers {
			k.expire(&after.layers[i], now)
		}
		missing, err := k.check(before, &after, source)
		report.Missing = append(report.Missing, missing...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Report{}, err
	}
	report.Changes = []Change{}
	for _, k := range c.families {
		for i := range after.layers {
			report.Changes = append(report.Changes, k.changes(before, &after, throttle.Source(i))...)
		}
	}
	for _, changed := range report.Changes {
		if !changed.known { // an optional name: a sender could add names without end
			continue
		}
		at := changed.changed
		if at.IsZero() && changed.Source == source {
			at = written
		}
		if at.IsZero() || at.After(now) {
			at = now
		}
		c.last[[2]string{changed.Kind, changed.Name}] = LastChange{changed.Kind, changed.Name, changed.Source, at}
	}
	c.now.Store(&after)
	c.setTimer(&after, now)
	return report, nil
}

// setTimer starts the timer of the next end of a line. The lock is held.
func (c *Control) setTimer(s *state, now time.Time) {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	next := s.nextEnd()
	if next.IsZero() {
		return
	}
	c.timer = time.AfterFunc(min(next.Sub(now), longestTimer), func() {
		_, _ = c.change(context.Background(), throttle.SourceCode, time.Time{}, func(*state, time.Time) error { return nil }) // it has no lines that can be wrong
	})
}

func (s *state) nextEnd() (next time.Time) {
	for i := range s.layers {
		for t := range s.layers[i].terms {
			if end := t.Until; !end.IsZero() && (next.IsZero() || end.Before(next)) {
				next = end
			}
		}
	}
	return next
}

// len returns the number of lines.
func (d *Document) len() int {
	return len(d.Throttles) + len(d.Breakers) + len(d.Buckets) + len(d.Backoffs) + len(d.Retries)
}

func (d *Document) terms(yield func(*Terms) bool) {
	_ = eachTerms(d.Throttles, yield) && eachTerms(d.Breakers, yield) && eachTerms(d.Buckets, yield) &&
		eachTerms(d.Backoffs, yield) && eachTerms(d.Retries, yield)
}

func eachTerms[L interface {
	comparable
	terms() *Terms
}](lines map[string]L, yield func(*Terms) bool) bool {
	var none L
	for _, l := range lines {
		if l != none && !yield(l.terms()) {
			return false
		}
	}
	return true
}
