package retry

import (
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Tuning holds the settings that a [Patch] changes. The fields mean the same as in [Config] and
// [Budget].
type Tuning struct {
	Mode           throttle.Mode
	Attempts       int
	Share, Reserve float64
}

// Patch is a change of settings at run time: nil changes nothing. The fields mean the same as in
// [Config] and [Budget], but 0 is not replaced by a default.
//
//	err := r.Tune(retry.Patch{Mode: new(throttle.ModeOff)}) // no retries
type Patch struct {
	Mode     *throttle.Mode `json:"mode,omitempty"`
	Attempts *int           `json:"attempts,omitempty"`
	Share    *float64       `json:"share,omitempty"`
	Reserve  *float64       `json:"reserve,omitempty"`
}

// Validate returns an error that names each field that is out of range, its value and its range. A
// Patch without error can be applied to every Retrier.
func (p Patch) Validate() error {
	_, err := Tuning{Attempts: 1, Share: 1}.With(p)
	return err
}

// With returns the settings after p, or the error of [Patch.Validate].
func (u Tuning) With(p Patch) (Tuning, error) {
	after := u
	tuned.Set(&after.Mode, p.Mode)
	tuned.Set(&after.Attempts, p.Attempts)
	tuned.Set(&after.Share, p.Share)
	tuned.Set(&after.Reserve, p.Reserve)
	e := check.Errors{Owner: "retry: Patch"}
	after.validate(&e, "")
	if err := e.Err(); err != nil {
		return u, err
	}
	return after, nil
}

// validate records the errors of the values. Budget comes before the names of the fields of a Budget.
func (u *Tuning) validate(e *check.Errors, budget string) {
	e.Want(u.Mode == throttle.ModeEnforce || u.Mode == throttle.ModeOff, "Mode", u.Mode, "ModeEnforce, or ModeOff for no retries")
	e.Want(check.Within(u.Attempts, 1, maxAttempts), "Attempts", u.Attempts, "1 to 10")
	e.Want(u.Share > 0 && u.Share <= 1, budget+"Share", u.Share, "more than 0, at most 1")
	e.Want(u.Reserve <= maxReserve, budget+"Reserve", u.Reserve, "at most 1e6, or negative for none")
}

// Tune changes settings of the code at run time. If a value is out of range, it returns the error of
// [Patch.Validate] and changes nothing.
//
// ModeOff also ends calls that wait for their retry, when their delay is over. A new budget applies to
// the present Window at once, with the attempts and retries in it.
func (r *Retrier) Tune(p Patch) error {
	if !r.valid() {
		return errNil
	}
	return r.tuning.Tune(p)
}

// Override sets settings in place of those of the code, as [throttle.Throttle.Override] does. An empty
// Patch ends what the source has set. Package control calls it; most callers should use that.
func (r *Retrier) Override(source throttle.Source, p Patch) error {
	if !r.valid() {
		return errNil
	}
	return r.tuning.Override(int(source), p)
}

// Tuning returns the settings in force, and those of the code. They differ if an [Retrier.Override] is
// in force.
func (r *Retrier) Tuning() (inForce, code Tuning) {
	if !r.valid() {
		return inForce, code
	}
	s := r.tuning.State()
	return s.Now, s.Code
}

func (r *Retrier) isOff() bool { return r.tuning.Load().Mode == throttle.ModeOff }
