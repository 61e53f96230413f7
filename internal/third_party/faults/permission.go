package faults

import "errors"

// PermissionFailure says that the caller is known, but may not do this.
type PermissionFailure struct {
	failure[*PermissionFailure]
}

// PermissionDenied is a [PermissionFailure] without a cause.
var PermissionDenied error = &PermissionFailure{}

// WithPermissionDenied wraps err in a [PermissionFailure]. A nil err gives nil.
func WithPermissionDenied(err error) error {
	return wrap(err, &PermissionFailure{failure[*PermissionFailure]{err}})
}

// IsPermissionDenied reports whether err is or wraps a [PermissionFailure].
func IsPermissionDenied(err error) bool { return found[*PermissionFailure](err) }

// AsPermissionDenied returns the first [PermissionFailure] in the tree of err.
func AsPermissionDenied(err error) (*PermissionFailure, bool) {
	return errors.AsType[*PermissionFailure](err)
}

// Error returns the text of the kind.
func (f *PermissionFailure) Error() string { return "permission denied" }
