package connectthrottle

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/deadline"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

// served is the context of a call that a server handles, and what decides about its outcome.
type served struct {
	dependency.Context

	due deadline.Deadline
}

// outcome returns the error that the throttle classifies for a handler that has returned err. A
// failed call that the handler made is not about this server.
func (s *served) outcome(err error) error {
	if err != nil && isShed(err) {
		return err
	}
	ended := s.due.Ended(s)
	switch {
	case ended == nil:
		return s.Outcome(FromError(err))
	case s.Failed():
		return dependency.Repeat(ended)
	case errors.Is(ended, context.DeadlineExceeded):
		return &endedError{err: err, cause: ended}
	}
	return &disconnectedError{err: err}
}

// answer records in the call of a stream that a message came from the server. The outcome of a server stream is
// that of its end.
func answer(call throttle.Call, spec connect.Spec) {
	if spec.StreamType == connect.StreamTypeBidi {
		call.Answered(nil)
	} else {
		call.Responding()
	}
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

func (e *disconnectedError) Error() string        { return fmt.Sprintf("%v: %v", context.Canceled, e.err) }
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
