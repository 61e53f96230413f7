package faults

import "errors"

// ConflictFailure says that the call lost against a concurrent one.
type ConflictFailure struct {
	// Violations are the conflicts met.
	Violations []*ConflictViolation

	failure[*ConflictFailure]
}

// ConflictViolation is one conflict over a resource.
type ConflictViolation struct {
	// Resource is what both calls wanted.
	Resource string
	// Description says how they collided.
	Description string
}

// Aborted returns a [ConflictFailure] with the given violations.
func Aborted(violations ...*ConflictViolation) error {
	return &ConflictFailure{Violations: violations}
}

// WithAborted wraps err in a [ConflictFailure] with the given violations.
// A nil err gives nil.
func WithAborted(err error, violations ...*ConflictViolation) error {
	return wrap(err, &ConflictFailure{Violations: violations, failure: failure[*ConflictFailure]{err}})
}

// IsAborted reports whether err is or wraps a [ConflictFailure].
func IsAborted(err error) bool { return found[*ConflictFailure](err) }

// AsAborted returns the first [ConflictFailure] in the tree of err.
func AsAborted(err error) (*ConflictFailure, bool) {
	return errors.AsType[*ConflictFailure](err)
}

// Error returns the descriptions of the violations, or the text of the kind, and the cause.
func (f *ConflictFailure) Error() string {
	return text("conflict", f.Violations, (*ConflictViolation).describe, f.err)
}

func (v *ConflictViolation) describe() string { return v.Description }
