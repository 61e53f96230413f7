package grpcthrottle

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
)

// refusal returns the error of a call that was not made, which gRPC understands: it was shed, its context is over, or its
// priority was refused.
func (m members) refusal(err error) error {
	if errors.Is(err, throttle.ErrShed) {
		if m.spoken {
			return err
		}
		return &shedError{err: err}
	}
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return &statusError{status: s, err: err}
	}
	return &statusError{status: status.New(codes.Internal, err.Error()), err: err}
}

// shedError is the error of a shed call. Its status is made only if somebody asks.
type shedError struct{ err error }

// Error returns the text of the error.
func (e *shedError) Error() string { return e.err.Error() }

// Unwrap returns the throttle's error.
func (e *shedError) Unwrap() error { return e.err }

// Temporary reports false, as [throttle.ShedError] does.
func (e *shedError) Temporary() bool { return false }

// GRPCStatus returns the status of the error. Its message names neither the throttle nor the key: a
// handler may return the error, and then gRPC sends the status to a remote caller.
func (e *shedError) GRPCStatus() *status.Status {
	return newStatus(codes.Unavailable, publicText(e.err), retryInfo(defaultRetryAfter))
}

// publicText returns the text of a shed for remote callers. The part that comes from the throttle,
// breaker or bucket names it and its key, and is replaced by the text of throttle.ErrShed.
func publicText(err error) string {
	return strings.ReplaceAll(err.Error(), innermostShed(err).Error(), throttle.ErrShed.Error())
}

// innermostShed returns the error that err wraps most deeply among those that are throttle.ErrShed.
func innermostShed(err error) error {
	for {
		next := wrappedShed(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// wrappedShed returns an error directly below err that is throttle.ErrShed, or nil.
func wrappedShed(err error) error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); isShed(next) {
			return next
		}
	case interface{ Unwrap() []error }:
		for _, next := range e.Unwrap() {
			if isShed(next) {
				return next
			}
		}
	}
	return nil
}

func isShed(err error) bool { return errors.Is(err, throttle.ErrShed) }

// statusError is an error with a status that it did not have.
type statusError struct {
	status *status.Status
	err    error
}

// Error returns the text of the error.
func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the error without its status.
func (e *statusError) Unwrap() error { return e.err }

// GRPCStatus returns the status, by which gRPC knows the error.
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// grpcStatus is what gRPC looks for in an error.
type grpcStatus interface{ GRPCStatus() *status.Status }

// hasStatus reports whether gRPC finds a status in err.
func hasStatus(err error) bool {
	var owner grpcStatus
	return errors.As(err, &owner)
}

// hasForeignStatus reports whether gRPC finds a status in err that is not just that of a shed.
func hasForeignStatus(err error) bool {
	var owner grpcStatus
	if !errors.As(err, &owner) {
		return false
	}
	_, shed := owner.(*shedError)
	return !shed
}
