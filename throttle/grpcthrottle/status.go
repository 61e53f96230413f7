package grpcthrottle

import (
	"errors"
	"strings"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

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

// ToStatus returns err with the gRPC status for its fault, the reverse of [FromStatus]. A conflict
// becomes Aborted. A shed becomes Unavailable with a RetryInfo, and its message names neither
// throttle nor key. A [Server] converts the errors of handlers with it. errors.Is and errors.As
// still find the fault, for outer interceptors.
//
// An error that has a status keeps it. Nil and errors without a fault are returned unchanged.
// ToStatus removes a mark such as [throttle.MarkRejected] around a status, because gRPC would send
// the text of the status twice.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	if isShed(err) && !hasForeignStatus(err) {
		return &shedError{err}
	}
	if own, ok := statusOf(err); ok {
		return own
	}
	code := codes.Code(protocol.CodeOf(throttle.FaultOf(err)))
	if code == codes.Unknown {
		return err
	}
	return &statusError{err, newStatus(code, err.Error(), detailsOf(err, code)...)}
}

// statusOf returns err without a mark around it, and whether err has a status.
func statusOf(err error) (error, bool) {
	if _, ok := err.(grpcStatus); ok {
		return err, true
	}
	if inner := errors.Unwrap(err); inner != nil && inner.Error() == err.Error() {
		if _, ok := inner.(grpcStatus); ok {
			return inner, true
		}
	}
	return err, hasStatus(err)
}

// detailsOf returns the details of a fault that the code does not contain.
func detailsOf(err error, code codes.Code) (details []protoadapt.MessageV1) {
	switch code {
	case codes.Unavailable:
		return appendDelay(nil, err)
	case codes.ResourceExhausted:
		if f, _ := faults.AsResourceExhausted(err); f != nil && len(f.Violations) > 0 {
			details = append(details, &errdetails.QuotaFailure{
				Violations: converted(f.Violations, func(v *faults.QuotaViolation) *errdetails.QuotaFailure_Violation {
					return &errdetails.QuotaFailure_Violation{Subject: validUTF8(v.Subject), Description: validUTF8(v.Description)}
				}),
			})
		}
		return appendDelay(details, err)
	case codes.InvalidArgument:
		if f, _ := faults.AsBad(err); f != nil && len(f.Violations) > 0 {
			details = append(details, &errdetails.BadRequest{
				FieldViolations: converted(f.Violations, func(v *faults.FieldViolation) *errdetails.BadRequest_FieldViolation {
					return &errdetails.BadRequest_FieldViolation{Field: validUTF8(v.Field), Description: validUTF8(v.Description)}
				}),
			})
		}
	case codes.FailedPrecondition:
		if f, _ := faults.AsFailedPrecondition(err); f != nil && len(f.Violations) > 0 {
			details = append(details, &errdetails.PreconditionFailure{
				Violations: converted(f.Violations, func(v *faults.PreconditionViolation) *errdetails.PreconditionFailure_Violation {
					return &errdetails.PreconditionFailure_Violation{
						Type: validUTF8(v.Type), Subject: validUTF8(v.Subject), Description: validUTF8(v.Description),
					}
				}),
			})
		}
	}
	return details
}

// appendDelay appends a RetryInfo if err has a delay or is a shed.
func appendDelay(details []protoadapt.MessageV1, err error) []protoadapt.MessageV1 {
	if delay := protocol.Delay(err); delay > 0 {
		return append(details, retryInfo(delay))
	}
	return details
}

func retryInfo(delay time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}
}

func converted[V, D any](violations []*V, convert func(*V) *D) []*D {
	var details []*D
	for _, v := range violations {
		if v != nil {
			details = append(details, convert(v))
		}
	}
	return details
}

// newStatus returns a status with details, or without them if they cannot be encoded.
func newStatus(code codes.Code, message string, details ...protoadapt.MessageV1) *status.Status {
	s := status.New(code, validUTF8(message))
	if full, err := s.WithDetails(details...); err == nil {
		s = full
	}
	return s
}

// validUTF8 replaces invalid UTF-8. Protobuf cannot send it, and would drop all details.
func validUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
