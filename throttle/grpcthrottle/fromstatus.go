package grpcthrottle

import (
	"time"

	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
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
// [protocol.FaultOfCode] says how throttles count them. A [Client] also reads the trailer
// grpc-retry-pushback-ms, in which a server delays or forbids retries: with it, Unavailable says that the
// backend is full.
//
// FromStatus returns err unchanged if
//
//   - it is nil, or has no status,
//   - its code is Internal, Unknown or DataLoss,
//   - or it already has a fault.
func FromStatus(err error) error { return fromStatus(err, nil) }

// fromStatus is FromStatus for a call whose trailer is known, or nil. The trailer is read only if its
// pushback matters.
func fromStatus(err error, trailer *metadata.MD) error {
	s := status.Convert(err)
	if s.Code() == codes.OK || throttle.FaultOf(err) != throttle.FaultOther {
		return err
	}
	delay, delayed := delayOf(s)
	switch fault := protocol.FaultOfCode(uint32(s.Code()), s.Message()); fault {
	case throttle.FaultAvailability:
		if delay == 0 && trailer != nil {
			delay, _ = protocol.Pushback((*trailer)[pushbackKey])
		}
		return faults.WithUnavailable(err, min(delay, protocol.MaxDelay))
	case throttle.FaultQuota:
		if delayed {
			err = faults.WithUnavailable(err, delay)
		}
		violations := detailOf[*errdetails.QuotaFailure](s).GetViolations()
		return faults.WithResourceExhausted(err, converted(violations, func(v *errdetails.QuotaFailure_Violation) *faults.QuotaViolation {
			return &faults.QuotaViolation{Subject: v.GetSubject(), Description: v.GetDescription()}
		})...)
	case throttle.FaultBad:
		violations := detailOf[*errdetails.BadRequest](s).GetFieldViolations()
		return faults.WithBad(err, converted(violations, func(v *errdetails.BadRequest_FieldViolation) *faults.FieldViolation {
			return &faults.FieldViolation{Field: v.GetField(), Description: v.GetDescription()}
		})...)
	case throttle.FaultPrecondition:
		violations := detailOf[*errdetails.PreconditionFailure](s).GetViolations()
		return faults.WithFailedPrecondition(err, converted(violations, func(v *errdetails.PreconditionFailure_Violation) *faults.PreconditionViolation {
			return &faults.PreconditionViolation{Type: v.GetType(), Subject: v.GetSubject(), Description: v.GetDescription()}
		})...)
	default:
		return protocol.WithFault(err, fault)
	}
}

func detailOf[T any](s *status.Status) (none T) {
	for _, d := range s.Details() {
		if detail, ok := d.(T); ok {
			return detail
		}
	}
	return none
}

// delayOf returns the delay of the RetryInfo, if there is one, between 0 and protocol.MaxDelay.
func delayOf(s *status.Status) (time.Duration, bool) {
	delay := detailOf[*errdetails.RetryInfo](s).GetRetryDelay()
	if delay == nil {
		return 0, false
	}
	return min(max(0, delay.AsDuration()), protocol.MaxDelay), true
}
