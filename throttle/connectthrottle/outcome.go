package connectthrottle

import (
	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// outcome returns the error that the throttle of a server classifies for the error of a handler that
// ends now.
func outcome(s *protocol.Served, err error) error {
	recorded := s.Outcome(FromError(err))
	if abandoned, ok := recorded.(*protocol.AbandonedError); ok { //nolint:errorlint // Outcome has just made it
		return abandonedError{abandoned}
	}
	return recorded
}

type abandonedError struct{ *protocol.AbandonedError }

func (e abandonedError) Unwrap() error { return e.AbandonedError }

// As returns an error with the code.
func (e abandonedError) As(target any) bool {
	coded, ok := target.(**connect.Error)
	if ok {
		*coded = connect.NewError(connect.Code(protocol.CodeOf(throttle.FaultOf(e.Cause))), e.AbandonedError)
	}
	return ok
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
		return protocol.Ignore(err) // a stream may be idle for long
	}
	return err
}
