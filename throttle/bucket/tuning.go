package bucket

// Tuning holds the settings that [Limiter.Override] sets.
type Tuning struct {
	// Limit is the limit of keys for which Config.LimitFor has no other.
	Limit Limit
}

// Override sets the limit, or fields of it, in place of that of the code, such as one of an
// operator during an incident. Change is applied to the limit of the code now and after each
// [Limiter.SetLimit], so that it must set fields to fixed values. Nil ends the override. A later
// Override replaces an earlier one. Package control calls it; most callers should use that.
func (l *Limiter) Override(change func(*Tuning)) error {
	if !l.valid() {
		return errNil
	}
	return l.retune(func() error { return l.limit.Override(ofLimit(change)) })
}

// CheckOverride returns the error that [Limiter.Override] would return for change, and changes
// nothing.
func (l *Limiter) CheckOverride(change func(*Tuning)) error {
	if !l.valid() {
		return errNil
	}
	return l.limit.Check(nil, ofLimit(change))
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

// retune changes the limit and applies it to waiting calls.
func (l *Limiter) retune(change func() error) error {
	if err := change(); err != nil {
		return err
	}
	l.queues.recheckAll()
	return nil
}

// ofLimit returns a change of the limit that the limiter keeps.
func ofLimit(change func(*Tuning)) func(*ratedLimit) {
	if change == nil {
		return nil
	}
	return func(r *ratedLimit) {
		u := Tuning{r.Limit}
		change(&u)
		r.Limit = u.Limit
	}
}

// complete computes the rate of a limit, or returns the errors of its fields.
func complete(r *ratedLimit) error {
	if err := r.Validate(); err != nil {
		return err
	}
	*r = rated(r.Limit)
	return nil
}
