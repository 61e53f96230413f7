package backoff

import (
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

var errNoChange = errors.New("backoff: Responsive.Tune: change is nil: want a function that sets fields of the Tuning")

// Tuning holds the settings that [Responsive.Tune] changes. The fields mean the same as in
// [Config].
type Tuning struct {
	MaxInterval time.Duration
}

// Tune changes settings at run time. It calls change with the settings of the code, validates the
// result and applies it. If a value is out of range, it returns an error and changes nothing. It
// may call change again if another Tune runs at the same time.
//
// A lower MaxInterval cuts a longer delay, also for waiting calls. A call that sleeps waits at most the
// new MaxInterval from then on.
func (r *Responsive) Tune(change func(*Tuning)) error {
	if change == nil {
		return errNoChange
	}
	return r.retune(func() error { return r.tuning.Tune(change) })
}

// Override sets settings in place of those of the code, such as those of an operator during an
// incident. Change is applied to the settings of the code now and after each Tune, so that it must
// set fields to fixed values. Nil ends the override. A later Override replaces an earlier one.
// Package control calls it; most callers should use that.
func (r *Responsive) Override(change func(*Tuning)) error {
	return r.retune(func() error { return r.tuning.Override(change) })
}

// CheckOverride returns the error that [Responsive.Override] would return for change, and changes
// nothing.
func (r *Responsive) CheckOverride(change func(*Tuning)) error {
	if !r.valid() {
		return errNil
	}
	return r.tuning.Check(nil, change)
}

// Tuning returns the settings in force, and those of the code. They differ if an
// [Responsive.Override] is in force.
func (r *Responsive) Tuning() (inForce, code Tuning) {
	if !r.valid() {
		return inForce, code
	}
	s := r.tuning.State()
	return s.Now, s.Code
}

// retune changes settings and applies them.
func (r *Responsive) retune(change func() error) error {
	if !r.valid() {
		return errNil
	}
	if err := change(); err != nil {
		return err
	}
	r.update(func() { r.limitLocked(time.Now(), r.tuning.Load().MaxInterval) })
	return nil
}

// limitLocked sets the longest delay. The caller holds the lock.
func (r *Responsive) limitLocked(now time.Time, longest time.Duration) {
	r.config.MaxInterval, r.config.Up = longest, r.givenUp
	r.config.Up = r.config.growth()
	if r.delay.interval > longest {
		r.delay.interval = longest
		r.delay.steps++
	}
	if latest := now.Add(longest); r.retryAt.After(latest) {
		r.retryAt = latest
	}
	r.wakeSleepers()
	r.queue.wakeFirst()
}

// longest returns the longest delay that can occur.
func (r *Responsive) longest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config.longest()
}

// checkTuning returns the errors of settings.
func (r *Responsive) checkTuning(u *Tuning) error {
	e := check.Errors{Owner: "backoff: Tuning"}
	shortest := r.config.InitialInterval
	e.Want(check.Within(u.MaxInterval, shortest, maxInterval), "MaxInterval", u.MaxInterval,
		fmt.Sprintf("at least InitialInterval (%v), at most 24h", shortest))
	return e.Err()
}
