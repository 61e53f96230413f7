package faults

import "errors"

// QuotaFailure says that a quota or a limited resource is used up.
type QuotaFailure struct {
	// Violations are the quotas exceeded.
	Violations []*QuotaViolation

	failure[*QuotaFailure]
}

// QuotaViolation is one quota exceeded.
type QuotaViolation struct {
	// Subject is the client or resource that exceeded the quota.
	Subject string
	// Description says which quota and how.
	Description string
}

// ResourceExhausted returns a [QuotaFailure] with the given violations.
func ResourceExhausted(violations ...*QuotaViolation) error {
	return &QuotaFailure{Violations: violations}
}

// WithResourceExhausted wraps err in a [QuotaFailure] with the given violations.
// A nil err gives nil.
func WithResourceExhausted(err error, violations ...*QuotaViolation) error {
	return wrap(err, &QuotaFailure{Violations: violations, failure: failure[*QuotaFailure]{err}})
}

// IsResourceExhausted reports whether err is or wraps a [QuotaFailure].
func IsResourceExhausted(err error) bool { return found[*QuotaFailure](err) }

// AsResourceExhausted returns the first [QuotaFailure] in the tree of err.
func AsResourceExhausted(err error) (*QuotaFailure, bool) {
	return errors.AsType[*QuotaFailure](err)
}

// Error returns the descriptions of the violations, or the text of the kind, and the cause.
func (f *QuotaFailure) Error() string {
	return text("quota failure", f.Violations, (*QuotaViolation).describe, f.err)
}

func (v *QuotaViolation) describe() string { return v.Description }
