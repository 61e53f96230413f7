package grpcthrottle

import (
	"errors"
	"strings"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
)

// ToStatus returns err with the gRPC status that its fault stands for, the way back of [FromStatus]; a conflict is Aborted, and a
// shed is Unavailable with a RetryInfo and a message that names neither throttle nor key. It is what a [Server] does with the errors of
// handlers. The fault stays, for interceptors further out.
//
// An error that has a status keeps it, and one without any fault is returned as it is; so is nil. Off an error that only
// marks a status, such as [throttle.MarkRejected], the mark is taken, because gRPC would send the text of the status twice over.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	if isShed(err) && !hasForeignStatus(err) {
		s := newStatus(codes.Unavailable, publicText(err), appendDelay(nil, err)...)
		return &statusError{status: s, err: err}
	}
	if own, ok := statusOf(err); ok {
		return own
	}
	code := codeOf(throttle.FaultOf(err))
	if code == codes.Unknown {
		return err
	}
	return &statusError{status: newStatus(code, err.Error(), detailsOf(err, code)...), err: err}
}

// statusOf returns err if it has a status, without a mark around it.
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

// codeOf returns the code for a kind of fault.
func codeOf(f throttle.Fault) codes.Code {
	switch f {
	case throttle.FaultAvailability:
		return codes.Unavailable
	case throttle.FaultQuota:
		return codes.ResourceExhausted
	case throttle.FaultAuthentication:
		return codes.Unauthenticated
	case throttle.FaultPermission:
		return codes.PermissionDenied
	case throttle.FaultBad:
		return codes.InvalidArgument
	case throttle.FaultConflict:
		return codes.Aborted
	case throttle.FaultMissing:
		return codes.NotFound
	case throttle.FaultPrecondition:
		return codes.FailedPrecondition
	case throttle.FaultUnimplemented:
		return codes.Unimplemented
	case throttle.FaultTimeout:
		return codes.DeadlineExceeded
	case throttle.FaultCanceled:
		return codes.Canceled
	}
	return codes.Unknown
}

// detailsOf returns what a fault has to say beyond its code.
func detailsOf(err error, code codes.Code) (details []protoadapt.MessageV1) {
	switch code {
	case codes.Unavailable:
		return appendDelay(nil, err)
	case codes.ResourceExhausted:
		f, _ := faults.AsResourceExhausted(err)
		return appendDelay(quotas(f), err)
	case codes.InvalidArgument:
		f, _ := faults.AsBad(err)
		return fields(f)
	case codes.FailedPrecondition:
		f, _ := faults.AsFailedPrecondition(err)
		return preconditions(f)
	}
	return nil
}

// appendDelay appends the RetryInfo of an error that has a delay.
func appendDelay(details []protoadapt.MessageV1, err error) []protoadapt.MessageV1 {
	if f, _ := faults.AsUnavailable(err); f != nil && f.RetryInfo.RetryDelay > 0 {
		return append(details, retryInfo(min(f.RetryInfo.RetryDelay, longestDelay)))
	}
	if errors.Is(err, throttle.ErrShed) {
		return append(details, retryInfo(defaultRetryAfter))
	}
	return details
}

func retryInfo(delay time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}
}

func quotas(f *faults.QuotaFailure) []protoadapt.MessageV1 {
	if f == nil || len(f.Violations) == 0 {
		return nil
	}
	return []protoadapt.MessageV1{&errdetails.QuotaFailure{
		Violations: translated(f.Violations, func(v *faults.QuotaViolation) *errdetails.QuotaFailure_Violation {
			return &errdetails.QuotaFailure_Violation{Subject: valid(v.Subject), Description: valid(v.Description)}
		}),
	}}
}

func fields(f *faults.BadRequest) []protoadapt.MessageV1 {
	if f == nil || len(f.Violations) == 0 {
		return nil
	}
	return []protoadapt.MessageV1{&errdetails.BadRequest{
		FieldViolations: translated(f.Violations, func(v *faults.FieldViolation) *errdetails.BadRequest_FieldViolation {
			return &errdetails.BadRequest_FieldViolation{Field: valid(v.Field), Description: valid(v.Description)}
		}),
	}}
}

func preconditions(f *faults.PreconditionFailure) []protoadapt.MessageV1 {
	if f == nil || len(f.Violations) == 0 {
		return nil
	}
	return []protoadapt.MessageV1{&errdetails.PreconditionFailure{
		Violations: translated(f.Violations, func(v *faults.PreconditionViolation) *errdetails.PreconditionFailure_Violation {
			return &errdetails.PreconditionFailure_Violation{
				Type: valid(v.Type), Subject: valid(v.Subject), Description: valid(v.Description),
			}
		}),
	}}
}

// translated returns all violations that are not nil in the words of gRPC.
func translated[V, D any](violations []*V, into func(*V) *D) []*D {
	var details []*D
	for _, v := range violations {
		if v != nil {
			details = append(details, into(v))
		}
	}
	return details
}

// newStatus returns a status with details. If these do not fit into it, it goes without: better than no status.
func newStatus(code codes.Code, message string, details ...protoadapt.MessageV1) *status.Status {
	s := status.New(code, valid(message))
	if full, err := s.WithDetails(details...); err == nil {
		s = full
	}
	return s
}

// valid returns text as protobuf can send it: bytes that are no UTF-8 would take all details with them.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
