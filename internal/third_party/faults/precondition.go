package faults

import "errors"

// PreconditionFailure says that the system is not in the state that the call needs.
type PreconditionFailure struct {
	// Violations are the preconditions not met.
	Violations []*PreconditionViolation

	failure[*PreconditionFailure]
}

// PreconditionViolation is one precondition not met.
type PreconditionViolation struct {
	// Type is the sort of precondition.
	Type string
	// Subject is what fails it.
	Subject string
	// Description says how it fails.
	Description string
}

// FailedPrecondition returns a [PreconditionFailure] with the given violations.
func FailedPrecondition(violations ...*PreconditionViolation) error {
	return &PreconditionFailure{Violations: violations}
}

// WithFailedPrecondition wraps err in a [PreconditionFailure] with the given violations.
// A nil err gives nil.
func WithFailedPrecondition(err error, violations ...*PreconditionViolation) error {
	return wrap(err, &PreconditionFailure{Violations: violations, failure: failure[*PreconditionFailure]{err}})
}

// IsFailedPrecondition reports whether err is or wraps a [PreconditionFailure].
func IsFailedPrecondition(err error) bool { return found[*PreconditionFailure](err) }

// AsFailedPrecondition returns the first [PreconditionFailure] in the tree of err.
func AsFailedPrecondition(err error) (*PreconditionFailure, bool) {
	return errors.AsType[*PreconditionFailure](err)
}

// Error returns the descriptions of the violations, or the text of the kind, and the cause.
func (f *PreconditionFailure) Error() string {
	return text("precondition failure", f.Violations, (*PreconditionViolation).describe, f.err)
}

func (v *PreconditionViolation) describe() string {
	return v.Description
}
