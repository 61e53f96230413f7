package throttle

import (
	"errors"
	"fmt"
	"time"
)

// Tuning is what can be changed while a throttle runs. The fields mean what they mean in [Config].
type Tuning struct {
	Ratio       float64
	MinimumRate float64
	Mode        Mode
}

// Tune changes a throttle while it runs. It hands change the current values, checks what change made of them, and
// puts all in force at once, or returns an error that names field and range and changes nothing. Change may run
// again if two Tunes meet.
func (t *Throttle) Tune(change func(*Tuning)) error {
	if !t.made() {
		return errNil
	}
	if change == nil {
		return errNoChange
	}
	for {
		before := t.tuning.Load()
		after, err := t.propose(before, change)
		if err != nil {
			return err
		}
		if t.tuning.CompareAndSwap(before, after) {
			t.retuned()
			return nil
		}
	}
}

// propose returns what change makes of the values, or what is wrong with that.
func (t *Throttle) propose(before *Tuning, change func(*Tuning)) (*Tuning, error) {
	proposed := *before
	change(&proposed)
	after := proposed // change may have kept what it was given
	return &after, after.validate("Tuning", t.policy, t.span)
}

// validate names what is wrong with the values, as fields of a struct of the name given.
func (u *Tuning) validate(owner string, policy Policy, window time.Duration) error {
	var errs []error
	if !within(u.Ratio, above(1), maxRatio) {
		errs = append(errs, fmt.Errorf("throttle: %s.Ratio is %v: want more than 1, at most 1e6", owner, u.Ratio))
	}
	switch {
	case !within(u.MinimumRate, above(0), maxMinimumRate):
		errs = append(errs, fmt.Errorf("throttle: %s.MinimumRate is %v: want more than 0, at most 1e9", owner, u.MinimumRate))
	case policy == SRE && u.MinimumRate*window.Seconds() < 1-1e-9 && window >= shortestWindow: // a window that is out of range is told of itself
		errs = append(errs, fmt.Errorf("throttle: %s.MinimumRate is %v: want at least one call per window of %v, %.4g",
			owner, u.MinimumRate, window, 1/window.Seconds()))
	}
	if u.Mode > ModeOff {
		errs = append(errs, fmt.Errorf("throttle: %s.Mode is %v: want Enforce, Shadow or Off", owner, u.Mode))
	}
	return errors.Join(errs...)
}

// padding is the formula's padding for a window: the calls that the minimum rate lets through in it, at least one.
func (u *Tuning) padding(window time.Duration) float64 {
	return max(1, u.MinimumRate*window.Seconds())
}
