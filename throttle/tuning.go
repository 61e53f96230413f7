package throttle

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Tuning holds the settings that [Throttle.Tune] changes. The fields mean the same as in [Config].
type Tuning struct {
	Ratio       float64
	MinimumRate float64
	Mode        Mode
}

// Tune changes settings at run time. It calls change with the current settings, validates the
// result and applies all of them at once. If a value is out of range, it returns an error that
// names the field and the range, and changes nothing. It may call change again if another Tune runs
// at the same time.
func (t *Throttle) Tune(change func(*Tuning)) error {
	if !t.valid() {
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
			t.decisions.Refresh(t.elapsed())
			return nil
		}
	}
}

// propose returns the settings after change, and their errors.
func (t *Throttle) propose(before *Tuning, change func(*Tuning)) (*Tuning, error) {
	proposed := *before
	change(&proposed)
	after := proposed // change may have kept the pointer
	e := check.Errors{Owner: "throttle: Tuning"}
	after.validate(&e, t.policy, t.span)
	return &after, e.Err()
}

// validate records the errors of the values. The range of MinimumRate depends on a valid window.
func (u *Tuning) validate(e *check.Errors, policy Policy, window time.Duration) {
	e.Want(check.Within(u.Ratio, above(1), maxRatio), "Ratio", u.Ratio, "more than 1, at most 1e6")
	valid := check.Within(u.MinimumRate, above(0), maxMinimumRate)
	e.Want(valid, "MinimumRate", u.MinimumRate, "more than 0, at most 1e9")
	if valid && policy == SRE && window >= shortestWindow {
		e.Want(u.MinimumRate*window.Seconds() >= 1-1e-9, "MinimumRate", u.MinimumRate,
			fmt.Sprintf("at least one call per window of %v, %.4g", window, 1/window.Seconds()))
	}
	e.Want(u.Mode <= ModeOff, "Mode", u.Mode, "ModeEnforce, ModeShadow or ModeOff")
}

// padding returns the padding of the formula for a window: the calls that MinimumRate lets through
// in it, at least one.
func (u *Tuning) padding(window time.Duration) float64 {
	return max(1, u.MinimumRate*window.Seconds())
}
