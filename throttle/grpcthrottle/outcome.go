package grpcthrottle

import (
	"context"
	"errors"
	"io"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// serverOutcome returns the error that the throttle classifies for the error of a handler.
func serverOutcome(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == context.Canceled {
		return &disconnectedError{err: err}
	}
	return FromStatus(err)
}

// clientOutcome returns the error that the throttle classifies for the error of a client's call. An
// EOF without a status is a rejection. gRPC loses the status if its last retry ends while sending,
// and it retries only calls that the backend could not serve.
func clientOutcome(err error) error {
	if errors.Is(err, io.EOF) && !hasStatus(err) && throttle.FaultOf(err) == throttle.FaultOther {
		return faults.WithUnavailable(err, 0)
	}
	return FromStatus(err)
}

// disconnectedError is the error of a handler whose caller had disconnected, which may have caused
// it.
type disconnectedError struct{ err error }

func (e *disconnectedError) Error() string        { return e.err.Error() }
func (e *disconnectedError) Unwrap() error        { return e.err }
func (e *disconnectedError) Is(target error) bool { return target == context.Canceled }

// alwaysIgnored reports whether err is Ignored whatever Config.Classify returns for it.
func alwaysIgnored(err error) bool {
	var disconnected *disconnectedError
	return errors.As(err, &disconnected) || errors.Is(err, throttle.ErrPanicked)
}
