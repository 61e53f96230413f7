package backoff

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

// Tuning holds the settings that a [Patch] changes. The fields mean the same as in [Config].
type Tuning struct {
	MaxInterval time.Duration

	shortest time.Duration // Config.InitialInterval
}

// Patch is a change of settings at run time: nil changes nothing. The fields mean the same as in
// [Config].
type Patch struct {
	MaxInterval *throttle.Duration `json:"max_interval,omitempty"`
}

// Validate returns an error if a field is out of range for every Responsive. A Responsive also refuses
// a MaxInterval that is shorter than its InitialInterval.
func (p Patch) Validate() error {
	_, err := Tuning{MaxInterval: minInterval, shortest: minInterval}.With(p)
	return err
}

// With returns the settings after p, or an error that names the field and its range.
func (u Tuning) With(p Patch) (Tuning, error) {
	after := u
	tuned.Set(&after.MaxInterval, (*time.Duration)(p.MaxInterval))
	e := check.Errors{Owner: "backoff: Patch"}
	e.Want(check.Within(after.MaxInterval, u.shortest, maxInterval), "MaxInterval", after.MaxInterval,
		fmt.Sprintf("at least InitialInterval (%v), at most 24h", u.shortest))
	if err := e.Err(); err != nil {
		return u, err
	}
	return after, nil
}

// Tune changes settings of the code at run time. If a value is out of range, it returns an error and
// changes nothing.
//
// A lower MaxInterval cuts a longer delay, also for waiting calls. A call that sleeps waits at most the
// new MaxInterval from then on.
func (r *Responsive) Tune(p Patch) error {
	return r.retune(func() error { return r.tuning.Tune(p) })
}

// Override sets settings in place of those of the code, as [throttle.Throttle.Override] does. An empty
// Patch ends what the source has set. Package control calls it; most callers should use that.
func (r *Responsive) Override(source throttle.Source, p Patch) error {
	return r.retune(func() error { return r.tuning.Override(int(source), p) })
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
	r.config.MaxInterval = longest
	if r.delay.interval > longest {
		r.delay.interval = longest
		r.delay.steps++
	}
	if latest := now.Add(longest); r.retryAt.After(latest) {
		r.retryAt = latest
	}
	r.wakeSleepers()
	r.queue.limit(now, longest)
	r.queue.wakeFirst()
}

func (r *Responsive) longest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config.MaxInterval
}
