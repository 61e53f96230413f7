package dependency

import (
	"context"
	"fmt"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// repeatedError is the error of an answer that repeats the failure of a dependency. Throttles
// ignore it.
type repeatedError struct{ err, kind error }

// Error returns the text of the failure.
func (e *repeatedError) Error() string {
	return fmt.Sprintf("a dependency failed: %v", e.err) // err may be a typed nil
}

// Unwrap returns the fault, and the shed that throttles ignore.
func (e *repeatedError) Unwrap() []error { return []error{e.kind, throttle.ErrShed} }

// Repeat returns the error that the throttle of a server records if its answer repeats err. It has
// the fault of err. It does not wrap err, which may have a mark of throttle.MarkRejected.
func Repeat(err error) error {
	switch throttle.FaultOf(err) {
	case throttle.FaultShed:
		return err
	case throttle.FaultQuota:
		return &repeatedError{err, faults.ResourceExhausted()}
	case throttle.FaultTimeout:
		return &repeatedError{err, context.DeadlineExceeded}
	case throttle.FaultCanceled:
		return &repeatedError{err, context.Canceled}
	}
	return &repeatedError{err, faults.Unavailable(0)}
}
