package grpcthrottle

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
)

// FromStatus returns err wrapped in the fault for its gRPC status. Throttles classify that fault.
// The status stays: status.Code of both errors is the same.
//
//	Unavailable                   availability, with the delay of the RetryInfo
//	ResourceExhausted             quota, with its violations; with a RetryInfo also availability
//	DeadlineExceeded              errors.Is(err, context.DeadlineExceeded)
//	Canceled                      errors.Is(err, context.Canceled)
//	InvalidArgument, OutOfRange   bad, with the violations of its fields
//	Unauthenticated, PermissionDenied, NotFound, Unimplemented
//	AlreadyExists, Aborted        conflict
//	FailedPrecondition            precondition, with its violations
//
// By default a throttle counts the first three as [throttle.Rejected], Canceled as
// [throttle.Ignored] unless it is late (Config.CanceledAfter), and all others as
// [throttle.Accepted]. gRPC also answers ResourceExhausted
// for a message that is too large. That is not a lack of capacity, so its fault is bad.
//
// FromStatus returns err unchanged if
//
//   - it is nil, or has no status,
//   - its code is Internal, Unknown or DataLoss,
//   - or it already has a fault.
func FromStatus(err error) error {
	s := status.Convert(err)
	if s.Code() == codes.OK || throttle.FaultOf(err) != throttle.FaultOther {
		return err
	}
	switch s.Code() {
	case codes.Unavailable:
		delay, _ := delayOf(s)
		return faults.WithUnavailable(err, delay)
	case codes.ResourceExhausted:
		return fromExhausted(err, s)
	case codes.DeadlineExceeded:
		return &contextError{err: err, cause: context.DeadlineExceeded}
	case codes.Canceled:
		return &contextError{err: err, cause: context.Canceled}
	}
	return fromCode(err, s)
}

// fromCode is FromStatus for the codes that are not about capacity.
func fromCode(err error, s *status.Status) error {
	switch s.Code() {
	case codes.InvalidArgument, codes.OutOfRange:
		return faults.WithBad(err, fieldsOf(s)...)
	case codes.Unauthenticated:
		return faults.WithUnauthenticated(err)
	case codes.PermissionDenied:
		return faults.WithPermissionDenied(err)
	case codes.NotFound:
		return faults.WithNotFound(err)
	case codes.AlreadyExists, codes.Aborted:
		return faults.WithAborted(err)
	case codes.FailedPrecondition:
		return faults.WithFailedPrecondition(err, preconditionsOf(s)...)
	case codes.Unimplemented:
		return faults.WithUnimplemented(err)
	}
	return err
}

// fromExhausted returns a quota fault, or a bad fault if the message was too large for gRPC.
func fromExhausted(err error, s *status.Status) error {
	if strings.Contains(s.Message(), "message larger than max") || strings.Contains(s.Message(), "decompression larger than max") {
		return faults.WithBad(err)
	}
	if delay, ok := delayOf(s); ok {
		err = faults.WithUnavailable(err, delay)
	}
	return faults.WithResourceExhausted(err, quotasOf(s)...)
}

// contextError is an error whose status means that a context has ended: the backend's or the
// caller's.
type contextError struct{ err, cause error }

// Error returns the text of the error.
func (e *contextError) Error() string { return e.err.Error() }

// Unwrap returns the error with the status.
func (e *contextError) Unwrap() error { return e.err }

// Is reports whether target is the error of the context.
func (e *contextError) Is(target error) bool { return target == e.cause }

// Timeout reports whether a deadline has passed.
func (e *contextError) Timeout() bool { return errors.Is(e.cause, context.DeadlineExceeded) }

// detailOf returns the first detail of type T, or nil. T is a pointer to a message.
func detailOf[T any](s *status.Status) (none T) {
	for _, d := range s.Details() {
		if detail, ok := d.(T); ok {
			return detail
		}
	}
	return none
}

// delayOf returns the delay of the RetryInfo, if there is one, between 0 and maxDelay.
func delayOf(s *status.Status) (time.Duration, bool) {
	delay := detailOf[*errdetails.RetryInfo](s).GetRetryDelay()
	if delay == nil {
		return 0, false
	}
	return min(max(0, delay.AsDuration()), maxDelay), true
}

func quotasOf(s *status.Status) (violations []*faults.QuotaViolation) {
	detail := detailOf[*errdetails.QuotaFailure](s)
	for _, v := range detail.GetViolations() {
		violations = append(violations, &faults.QuotaViolation{Subject: v.GetSubject(), Description: v.GetDescription()})
	}
	return violations
}

func fieldsOf(s *status.Status) (violations []*faults.FieldViolation) {
	detail := detailOf[*errdetails.BadRequest](s)
	for _, v := range detail.GetFieldViolations() {
		violations = append(violations, &faults.FieldViolation{Field: v.GetField(), Description: v.GetDescription()})
	}
	return violations
}

func preconditionsOf(s *status.Status) (violations []*faults.PreconditionViolation) {
	detail := detailOf[*errdetails.PreconditionFailure](s)
	for _, v := range detail.GetViolations() {
		violations = append(violations, &faults.PreconditionViolation{
			Type: v.GetType(), Subject: v.GetSubject(), Description: v.GetDescription(),
		})
	}
	return violations
}
