package throttle

import (
	"context"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Tuning holds the settings that a [Patch] changes. The fields mean the same as in [Config].
type Tuning struct {
	Ratio       float64
	MinimumRate float64
	Mode        Mode
	Background  float64
	Slow        time.Duration
	SlowGate    Mode
	SlowAuto    bool

	ProcessorWait time.Duration
	CanceledAfter time.Duration
}

// Tune changes settings of the code at run time, all of them at once. If a value is out of range, it
// returns the error of [Patch.Validate] and changes nothing. While [Throttle.Override] holds a
// setting, Tune of that setting has effect only after the override ends.
func (t *Throttle) Tune(p Patch) error {
	return t.retune(func() error { return t.tuning.Tune(p) })
}

// Override sets settings in place of those of the code, such as those of an operator during an
// incident. It replaces what the same source has set before; an empty Patch ends that. If several
// sources set a setting, the highest one is in force. Do not change what p points to afterwards.
// Package control calls it; most callers should use that.
func (t *Throttle) Override(source Source, p Patch) error {
	return t.retune(func() error { return t.tuning.Override(int(source), p) })
}

func (t *Throttle) retune(settings func() error) error {
	if !t.valid() {
		return errNil
	}
	err := t.change(settings)
	if err == nil {
		t.reportPolicy(context.Background())
	}
	return err
}

// change changes the settings and computes the decisions again. It calls no hook.
func (t *Throttle) change(settings func() error) error {
	if err := settings(); err != nil {
		return err
	}
	t.applyTuning()
	t.decisions.Refresh(t.elapsed())
	return nil
}

// applyTuning applies the settings that are kept elsewhere too.
func (t *Throttle) applyTuning() {
	t.watchSlow()
	t.countLocal()
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

func (u *Tuning) validate(e *check.Errors) {
	e.Want(check.Within(u.Ratio, above(1), maxRatio), "Ratio", u.Ratio, "more than 1, at most 1e6")
	e.Want(check.Within(u.MinimumRate, above(0), maxMinimumRate), "MinimumRate", u.MinimumRate, "more than 0, at most 1e9")
	e.Want(check.Within(u.Background, -math.MaxFloat64, maxBackground), "Background", u.Background,
		"at most 0.5, 0 for automatic, or negative for none")
	e.Want(u.Mode <= ModeOff, "Mode", u.Mode, "ModeEnforce, ModeShadow or ModeOff")
	e.Want(u.Slow <= 0 || check.Within(u.Slow, shortestSlow, longestSlow), "Slow", u.Slow, "1ms to 1h, 0 for the default, or negative for off")
	e.Want(u.SlowGate <= ModeOff, "SlowGate", u.SlowGate, "ModeEnforce, ModeShadow or ModeOff")
	e.Want(u.ProcessorWait <= 0 || check.Within(u.ProcessorWait, shortestProcessorWait, longestProcessorWait),
		"ProcessorWait", u.ProcessorWait, "1ms to 10s, 0 for the default, or negative for off")
	e.Want(u.CanceledAfter <= longestCanceledAfter, "CanceledAfter", u.CanceledAfter, "at most 1h")
}

// padding returns the padding of the formula for a window: the calls that MinimumRate lets through
// in it, at least one.
func (u *Tuning) padding(window time.Duration) float64 {
	return max(1, u.MinimumRate*window.Seconds())
}
