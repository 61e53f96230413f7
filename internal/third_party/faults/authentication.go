package faults

import "errors"

// AuthenticationFailure says that the caller is not authenticated.
type AuthenticationFailure struct {
	failure[*AuthenticationFailure]
}

// Unauthenticated is an [AuthenticationFailure] without a cause.
var Unauthenticated error = &AuthenticationFailure{}

// WithUnauthenticated wraps err in an [AuthenticationFailure]. A nil err gives nil.
func WithUnauthenticated(err error) error {
	return wrap(err, &AuthenticationFailure{failure[*AuthenticationFailure]{err}})
}

// IsUnauthenticated reports whether err is or wraps an [AuthenticationFailure].
func IsUnauthenticated(err error) bool { return found[*AuthenticationFailure](err) }

// AsUnauthenticated returns the first [AuthenticationFailure] in the tree of err.
func AsUnauthenticated(err error) (*AuthenticationFailure, bool) {
	return errors.AsType[*AuthenticationFailure](err)
}

// Error returns the text of the kind.
func (f *AuthenticationFailure) Error() string { return "failed to authenticate request" }
