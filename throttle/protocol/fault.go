package protocol

import (
	"context"
	"errors"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// WithFault returns err wrapped in a fault, which throttles classify. It returns err unchanged if f is
// none of the faults that an answer can have.
func WithFault(err error, f throttle.Fault) error {
	switch f {
	case throttle.FaultAvailability:
		return faults.WithUnavailable(err, 0)
	case throttle.FaultQuota:
		return faults.WithResourceExhausted(err)
	case throttle.FaultTimeout:
		return &endedError{err, context.DeadlineExceeded}
	case throttle.FaultCanceled:
		return &endedError{err, context.Canceled}
	case throttle.FaultBad:
		return faults.WithBad(err)
	case throttle.FaultAuthentication:
		return faults.WithUnauthenticated(err)
	case throttle.FaultPermission:
		return faults.WithPermissionDenied(err)
	case throttle.FaultMissing:
		return faults.WithNotFound(err)
	case throttle.FaultConflict:
		return faults.WithAborted(err)
	case throttle.FaultPrecondition:
		return faults.WithFailedPrecondition(err)
	case throttle.FaultUnimplemented:
		return faults.WithUnimplemented(err)
	}
	return err
}

// Ignore returns err wrapped, so that [Throttles] ignore the call, however late it was cancelled, unless
// the Classify of their Config decides. The fault is that of err.
func Ignore(err error) error { return &ignoredError{err} }

type ignoredError struct{ error }

func (e *ignoredError) Unwrap() error { return e.error }

func isIgnored(err error) bool {
	var ignored *ignoredError
	return errors.As(err, &ignored)
}

// endedError is an error which means that a context has ended: the backend's or the caller's.
type endedError struct {
	error
	cause error // that of the context
}

func (e *endedError) Unwrap() error        { return e.error }
func (e *endedError) Is(target error) bool { return target == e.cause }
func (e *endedError) Timeout() bool        { return errors.Is(e.cause, context.DeadlineExceeded) }
