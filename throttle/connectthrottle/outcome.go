package connectthrottle

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
)

// maxEarly bounds how long before its deadline a call counts as late.
const maxEarly = 100 * time.Millisecond

// lateFrom returns the time from which a disconnected caller means that the deadline has passed, for
// a call that begins now. The caller has the same deadline, and has started to wait for it before
// the call arrived. So its disconnection often comes first: a tenth of the time is enough for that.
// It returns the zero time if the call has no deadline.
func lateFrom(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return deadline.Add(-min(max(0, time.Until(deadline)/10), maxEarly))
}

// serverOutcome returns the error that the throttle classifies for a handler that has returned err.
// Late is the result of lateFrom when the call began.
func serverOutcome(ctx context.Context, late time.Time, err error) error {
	now := time.Now()
	disconnected := err != nil && ctx.Err() != nil
	if deadline, ok := ctx.Deadline(); ok && (!now.Before(deadline) || disconnected && !now.Before(late)) {
		return &endedError{err: err, cause: context.DeadlineExceeded}
	}
	if disconnected {
		return &disconnectedError{err: err}
	}
	return FromError(err)
}

// streamOutcome returns the error that the throttle classifies for a stream that would have the
// outcome of err. Answered reports whether a message came from the server. The only message of a
// client stream is its end, as in a unary call.
func streamOutcome(spec connect.Spec, answered bool, err error) error {
	fault := throttle.FaultOf(err)
	switch {
	case spec.StreamType&connect.StreamTypeServer == 0, fault != throttle.FaultCanceled && fault != throttle.FaultTimeout:
		return err
	case answered:
		return nil // the caller has stopped a stream that worked
	case fault == throttle.FaultCanceled:
		return &idleError{err: err}
	}
	return err
}

// endedError is an error whose code means that a context has ended: the backend's or the caller's.
type endedError struct{ err, cause error }

// Error returns the text of the error.
func (e *endedError) Error() string {
	if e.err == nil {
		return e.cause.Error()
	}
	return e.err.Error()
}

// Unwrap returns the error with the code.
func (e *endedError) Unwrap() error { return e.err }

// Is reports whether target is the error of the context.
func (e *endedError) Is(target error) bool { return target == e.cause }

// Timeout reports whether a deadline has passed.
func (e *endedError) Timeout() bool { return errors.Is(e.cause, context.DeadlineExceeded) }

// disconnectedError is the error of a handler whose caller had disconnected, which may have caused
// it. So it does not unwrap to the error: the throttle must not classify that.
type disconnectedError struct{ err error }

func (e *disconnectedError) Error() string        { return e.err.Error() }
func (e *disconnectedError) Is(target error) bool { return target == context.Canceled }

// idleError is the error of a stream that the caller has cancelled before the first message.
type idleError struct{ err error }

func (e *idleError) Error() string { return e.err.Error() }
func (e *idleError) Unwrap() error { return e.err }

// classifier returns the classifier of a throttle. It does not call own for the end of a call that
// is no answer: a disconnected caller, a panic. A stream may be idle for long, so Ignored holds for
// it whatever Config.CanceledAfter is.
func classifier(own throttle.Classifier) throttle.Classifier {
	return func(ctx context.Context, err error) (throttle.Outcome, bool) {
		var idle *idleError
		var disconnected *disconnectedError
		switch {
		case errors.As(err, &idle):
			return throttle.Ignored, true
		case own == nil, errors.As(err, &disconnected), errors.Is(err, throttle.ErrPanicked):
			return throttle.Ignored, false
		}
		return own(ctx, err)
	}
}
