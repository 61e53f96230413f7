package grpcthrottle

import (
	"context"
	"errors"

	"github.com/spillway-go/spillway/throttle"
)

// outcome returns the error of a handler as its throttle is to see it.
func outcome(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == context.Canceled {
		return &leftError{err: err}
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
