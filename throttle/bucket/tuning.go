package bucket

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Tuning holds the settings that a [Patch] changes: the limit of keys for which Config.LimitFor has no
// other.
type Tuning struct{ Limit }

// Patch is a change of the limit at run time: nil changes nothing. The fields mean the same as in
// [Limit].
type Patch struct {
	Capacity *int64             `json:"capacity,omitempty"`
	Refill   *int64             `json:"refill,omitempty"`
	Period   *throttle.Duration `json:"period,omitempty"`
}

// Validate returns an error that names each field that is out of range for every limiter. A limiter
// also refuses a Patch that does not fit its limit, such as one that takes ten years to fill.
func (p Patch) Validate() error {
	e := check.Errors{Owner: "bucket: Patch"}
	if p.Capacity != nil {
		e.Want(*p.Capacity >= 1, "Capacity", *p.Capacity, "1 or more")
	}
	if p.Refill != nil {
		e.Want(*p.Refill >= 0, "Refill", *p.Refill, "1 or more, or 0 for Capacity")
	}
	if p.Period != nil && *p.Period != 0 {
		e.Want(check.Within(*p.Period, throttle.Duration(refill.MinPeriod), throttle.Duration(refill.MaxPeriod)), "Period", *p.Period,
			fmt.Sprintf("%v to %v, or 0 for 1s", refill.MinPeriod, refill.MaxPeriod))
	}
	return e.Err()
}

// With returns the settings after p, or an error that names each field that is out of range.
func (u Tuning) With(p Patch) (Tuning, error) {
	after := u
	tuned.Set(&after.Capacity, p.Capacity)
	tuned.Set(&after.Refill, p.Refill)
	tuned.Set(&after.Period, (*time.Duration)(p.Period))
	if err := after.Validate(); err != nil {
		return u, err
	}
	return Tuning{after.WithDefaults()}, nil
}

// Tune changes fields of the limit of the code at run time, as [Limiter.SetLimit] changes all of it.
// If the result is invalid, it returns an error that names each such field, and changes nothing.
func (l *Limiter) Tune(p Patch) error {
	return l.retune(func() error { return l.limit.Tune(p) })
}

// Override sets fields of the limit in place of those of the code, as [throttle.Throttle.Override]
// does. An empty Patch ends what the source has set. Package control calls it; most callers should
// use that.
func (l *Limiter) Override(source throttle.Source, p Patch) error {
	return l.retune(func() error { return l.limit.Override(int(source), p) })
}

// Tuning returns the settings in force, and those of the code. They differ if an [Limiter.Override]
// is in force.
func (l *Limiter) Tuning() (inForce, code Tuning) {
	if !l.valid() {
		return inForce, code
	}
	s := l.limit.State()
	return Tuning{s.Now.Limit}, Tuning{s.Code.Limit}
}

func (l *Limiter) retune(change func() error) error {
	if !l.valid() {
		return errNil
	}
	if err := change(); err != nil {
		return err
	}
	l.queues.recheckAll()
	return nil
}
