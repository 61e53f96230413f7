package grpcthrottle

import (
	"context"
	"errors"
	"io"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// outcome returns the error of a handler as its throttle is to see it.
func outcome(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == context.Canceled {
		return &leftError{err: err}
	}
	return FromStatus(err)
}

// ended returns the error of a client's call as its throttle is to see it. An EOF without a status is no good end: gRPC loses the status when the
// last of its own retries ends while it is sending, and it tries again only what the backend could not serve.
func ended(err error) error {
	if errors.Is(err, io.EOF) && !hasStatus(err) && throttle.FaultOf(err) == throttle.FaultOther {
		return faults.WithUnavailable(err, 0)
	}
	return FromStatus(err)
}

// leftError is the error of a handler whose caller had left. Whatever it is, the caller's leaving may be its reason.
type leftError struct{ err error }

func (e *leftError) Error() string        { return e.err.Error() }
func (e *leftError) Unwrap() error        { return e.err }
func (e *leftError) Is(target error) bool { return target == context.Canceled }

// saysNothing reports whether err stands for an end that we know to say nothing about capacity, whatever anybody would make of it.
func saysNothing(err error) bool {
	var left *leftError
	return errors.As(err, &left) || errors.Is(err, throttle.ErrPanicked)
}
