package faults

import "errors"

// BadRequest says that the request itself is wrong and must change before a retry.
type BadRequest struct {
	// Violations are the fields at fault.
	Violations []*FieldViolation

	failure[*BadRequest]
}

// FieldViolation is one field at fault in a request.
type FieldViolation struct {
	// Field is the path of the field.
	Field string
	// Description says what is wrong with it.
	Description string
}

// Bad returns a [BadRequest] with the given violations.
func Bad(violations ...*FieldViolation) error {
	return &BadRequest{Violations: violations}
}

// WithBad wraps err in a [BadRequest] with the given violations.
// A nil err gives nil.
func WithBad(err error, violations ...*FieldViolation) error {
	return wrap(err, &BadRequest{Violations: violations, failure: failure[*BadRequest]{err}})
}

// IsBad reports whether err is or wraps a [BadRequest].
func IsBad(err error) bool { return found[*BadRequest](err) }

// AsBad returns the first [BadRequest] in the tree of err.
func AsBad(err error) (*BadRequest, bool) {
	return errors.AsType[*BadRequest](err)
}

// Error returns the descriptions of the violations, or the text of the kind, and the cause.
func (f *BadRequest) Error() string {
	return text("bad request", f.Violations, (*FieldViolation).describe, f.err)
}

func (v *FieldViolation) describe() string { return v.Description }
