package faults

import "errors"

// UnimplementedFailure says that the service does not offer this call.
type UnimplementedFailure struct {
	failure[*UnimplementedFailure]
}

// Unimplemented is an [UnimplementedFailure] without a cause.
var Unimplemented error = &UnimplementedFailure{}

// WithUnimplemented wraps err in an [UnimplementedFailure]. A nil err gives nil.
func WithUnimplemented(err error) error {
	return wrap(err, &UnimplementedFailure{failure[*UnimplementedFailure]{err}})
}

// IsUnimplemented reports whether err is or wraps an [UnimplementedFailure].
func IsUnimplemented(err error) bool { return found[*UnimplementedFailure](err) }

// AsUnimplemented returns the first [UnimplementedFailure] in the tree of err.
func AsUnimplemented(err error) (*UnimplementedFailure, bool) {
	return errors.AsType[*UnimplementedFailure](err)
}

// Error returns the text of the kind.
func (f *UnimplementedFailure) Error() string { return "unimplemented (yet)" }
