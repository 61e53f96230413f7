package throttle

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Tuning holds the settings that [Throttle.Tune] changes. The fields mean the same as in [Config].
type Tuning struct {
	Ratio       float64
	MinimumRate float64
	Mode        Mode
	Background  float64
	Slow        time.Duration
	SlowGate    Mode
	SlowAuto    bool

	ProcessorWait time.Duration
}

// Tune changes settings at run time. It calls change with the settings of the code, validates the
// result and applies all of them at once. If a value is out of range, it returns an error that
// names the field and the range, and changes nothing. It may call change again if another Tune runs
// at the same time. While [Throttle.Override] holds a setting, Tune of that setting has effect only after the
// override ends.
func (t *Throttle) Tune(change func(*Tuning)) error {
	if change == nil {
		return errNoChange
	}
	return t.retune(func() error { return t.tuning.Tune(change) })
}

// Override sets settings in place of those of the code, such as those of an operator during an
// incident. Change is applied to the settings of the code now and after each Tune, so that it must
// set fields to fixed values. Nil ends the override: the settings of the code are in force again. A
// later Override replaces an earlier one. Package control calls it; most callers should use that.
func (t *Throttle) Override(change func(*Tuning)) error {
	return t.retune(func() error { return t.tuning.Override(change) })
}

// retune changes settings and applies them.
func (t *Throttle) retune(change func() error) error {
	if !t.valid() {
		return errNil
	}
	if err := change(); err != nil {
		return err
	}
	t.applyTuning()
	t.decisions.Refresh(t.elapsed())
	t.reportPolicy(context.Background())
	return nil
}

// applyTuning applies the settings that are kept elsewhere too.
func (t *Throttle) applyTuning() {
	t.watchSlow()
	t.countLocal()
}

// CheckOverride returns the error that [Throttle.Override] would return for change, and changes
// nothing.
func (t *Throttle) CheckOverride(change func(*Tuning)) error {
	if !t.valid() {
		return errNil
	}
	return t.tuning.Check(nil, change)
}

// Tuning returns the settings in force, and those of the code. They differ if an
// [Throttle.Override] is in force.
func (t *Throttle) Tuning() (inForce, code Tuning) {
	if !t.valid() {
		return inForce, code
	}
	s := t.tuning.State()
	return s.Now, s.Code
}

// check returns the errors of settings.
func (t *Throttle) check(u *Tuning) error {
	e := check.Errors{Owner: "throttle: Tuning"}
	u.validate(&e, t.policy, t.span)
	return e.Err()
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
	e.Want(check.Within(u.Background, -math.MaxFloat64, maxBackground), "Background", u.Background,
		"at most 0.5, 0 for automatic, or negative for none")
	e.Want(u.Mode <= ModeOff, "Mode", u.Mode, "ModeEnforce, ModeShadow or ModeOff")
	e.Want(u.Slow == 0 || check.Within(u.Slow, shortestSlow, longestSlow), "Slow", u.Slow, "1ms to 1h, or 0 for off")
	e.Want(u.SlowGate <= ModeOff, "SlowGate", u.SlowGate, "ModeEnforce, ModeShadow or ModeOff")
	e.Want(u.ProcessorWait <= 0 || check.Within(u.ProcessorWait, shortestProcessorWait, longestProcessorWait),
		"ProcessorWait", u.ProcessorWait, "1ms to 10s, 0 for the default, or negative for off")
}

// padding returns the padding of the formula for a window: the calls that MinimumRate lets through
// in it, at least one.
func (u *Tuning) padding(window time.Duration) float64 {
	return max(1, u.MinimumRate*window.Seconds())
}
