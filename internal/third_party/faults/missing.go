package faults

import "errors"

// MissingFailure says that what was asked for does not exist.
type MissingFailure struct {
	failure[*MissingFailure]
}

// NotFound is a [MissingFailure] without a cause.
var NotFound error = &MissingFailure{}

// WithNotFound wraps err in a [MissingFailure]. A nil err gives nil.
func WithNotFound(err error) error {
	return wrap(err, &MissingFailure{failure[*MissingFailure]{err}})
}

// IsNotFound reports whether err is or wraps a [MissingFailure].
func IsNotFound(err error) bool { return found[*MissingFailure](err) }

// AsNotFound returns the first [MissingFailure] in the tree of err.
func AsNotFound(err error) (*MissingFailure, bool) {
	return errors.AsType[*MissingFailure](err)
}

// Error returns the text of the kind.
func (f *MissingFailure) Error() string { return "resource not found" }
