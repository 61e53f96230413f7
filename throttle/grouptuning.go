package throttle

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Tune changes the settings of all throttles of the group, as [Throttle.Tune] does, and of those
// that it creates later. Use it as a kill switch for every host, method or tenant. If the result is
// invalid for one throttle, none is changed and the error names it.
//
// Change must set fields to fixed values, because the group keeps one value per field for later
// throttles. Tune returns an error for u.Ratio *= 2, which depends on the value before: call
// [Throttle.Tune] of each throttle in [Group.All] instead. Tune calls change a few times with
// settings of no throttle, to find the fields that it sets.
func (g *Group) Tune(change func(*Tuning)) error {
	if change == nil {
		return errNoChange
	}
	o, err := overridesOf(change) // calls user code: no lock is held
	if err != nil {
		return err
	}
	g.tuning.Lock()
	defer g.tuning.Unlock()
	for _, t := range g.all() {
		if err := t.tuning.Check(o.apply, nil); err != nil {
			return fmt.Errorf("throttle: group member %q: %w", t.key, err)
		}
	}
	members, err := g.override(o)
	for _, t := range members {
		err = errors.Join(err, t.Tune(o.apply))
	}
	return err
}

// override records overrides for later throttles, and returns the existing members.
func (g *Group) override(o *overrides) ([]*Throttle, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	g.overrides.Store(g.overrides.Load().then(o))
	return g.members.Values(), nil
}

// overrides are the settings that [Group.Tune] has set. A nil field was not set.
type overrides struct {
	ratio, minimumRate, background *float64
	mode, slowGate                 *Mode
	slow                           *time.Duration
	slowAuto                       *bool
	processorWait                  *time.Duration
}

// overridesOf returns what change sets. It compares the results for settings that differ in every
// field, so that no fixed value is equal to all of them. They have every mode, and the ends of the
// ranges.
func overridesOf(change func(*Tuning)) (*overrides, error) {
	before := [...]Tuning{
		{above(1), above(0), ModeEnforce, -1, shortestSlow, ModeEnforce, false, shortestProcessorWait},
		{maxRatio, maxMinimumRate, ModeShadow, maxBackground, longestSlow, ModeShadow, true, longestProcessorWait},
		{2, 1, ModeOff, 0, 0, ModeOff, false, 0},
	}
	var after [len(before)]Tuning
	for i, u := range before {
		change(&u)
		after[i] = u // change may have kept the pointer
	}
	e := check.Errors{Owner: "throttle: Tuning"}
	o := &overrides{
		ratio:         fixed(&e, "Ratio", before[:], after[:], func(u Tuning) float64 { return u.Ratio }),
		minimumRate:   fixed(&e, "MinimumRate", before[:], after[:], func(u Tuning) float64 { return u.MinimumRate }),
		background:    fixed(&e, "Background", before[:], after[:], func(u Tuning) float64 { return u.Background }),
		slow:          fixed(&e, "Slow", before[:], after[:], func(u Tuning) time.Duration { return u.Slow }),
		slowGate:      fixed(&e, "SlowGate", before[:], after[:], func(u Tuning) Mode { return u.SlowGate }),
		slowAuto:      fixed(&e, "SlowAuto", before[:], after[:], func(u Tuning) bool { return u.SlowAuto }),
		processorWait: fixed(&e, "ProcessorWait", before[:], after[:], func(u Tuning) time.Duration { return u.ProcessorWait }),
		mode:          fixed(&e, "Mode", before[:], after[:], func(u Tuning) Mode { return u.Mode }),
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	valid := before[0]
	o.apply(&valid)
	valid.validate(&e, Tiered, 0) // the ranges that are the same for all throttles
	return o, e.Err()
}

// fixed returns the value that a field was set to, or nil if no change was made. It records an error
// if the value is not the same each time.
func fixed[T comparable](e *check.Errors, name string, before, after []Tuning, field func(Tuning) T) *T {
	value, changed, same := field(after[0]), false, true
	for i := range after {
		changed = changed || !equal(field(after[i]), field(before[i]))
		same = same && equal(field(after[i]), value)
	}
	if !changed {
		return nil
	}
	e.Want(same, name, "computed from the settings before", "a fixed value in Group.Tune, or Throttle.Tune of each throttle")
	return &value
}

// equal reports whether a and b are equal, or both are NaN.
func equal[T comparable](a, b T) bool { return a == b || a != a && b != b }

// then returns the overrides after later ones.
func (o *overrides) then(later *overrides) *overrides {
	if o == nil {
		return later
	}
	return &overrides{
		ratio:         cmp.Or(later.ratio, o.ratio),
		minimumRate:   cmp.Or(later.minimumRate, o.minimumRate),
		background:    cmp.Or(later.background, o.background),
		mode:          cmp.Or(later.mode, o.mode),
		slow:          cmp.Or(later.slow, o.slow),
		slowGate:      cmp.Or(later.slowGate, o.slowGate),
		slowAuto:      cmp.Or(later.slowAuto, o.slowAuto),
		processorWait: cmp.Or(later.processorWait, o.processorWait),
	}
}

// apply changes settings to the overrides.
func (o *overrides) apply(u *Tuning) {
	set(&u.Ratio, o.ratio)
	set(&u.MinimumRate, o.minimumRate)
	set(&u.Background, o.background)
	set(&u.Mode, o.mode)
	set(&u.Slow, o.slow)
	set(&u.SlowGate, o.slowGate)
	set(&u.SlowAuto, o.slowAuto)
	set(&u.ProcessorWait, o.processorWait)
}

// set changes a setting to value, unless that is nil.
func set[T any](setting, value *T) {
	if value != nil {
		*setting = *value
	}
}
