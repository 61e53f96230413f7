package connectthrottle

import (
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// FromError returns err wrapped in the fault for its code. Throttles classify that fault. The code
// stays: connect.CodeOf of both errors is the same.
//
//	Unavailable                   availability, with the delay of the RetryInfo, Retry-After or pushback
//	ResourceExhausted             quota; with such a delay also availability
//	DeadlineExceeded              errors.Is(err, context.DeadlineExceeded)
//	Canceled                      errors.Is(err, context.Canceled)
//	InvalidArgument, OutOfRange   bad
//	Unauthenticated, PermissionDenied, NotFound, Unimplemented
//	AlreadyExists, Aborted        conflict
//	FailedPrecondition            precondition
//
// [protocol.FaultOfCode] says how throttles count them. The pushback is the metadata
// grpc-retry-pushback-ms, in which a server delays or forbids retries. Retry-After and the pushback are
// those of a remote server.
//
// FromError returns err unchanged if
//
//   - it is nil, or has no code,
//   - its code is Internal, Unknown or DataLoss,
//   - or it already has a fault.
func FromError(err error) error {
	coded, ok := codedOf(err)
	if !ok || throttle.FaultOf(err) != throttle.FaultOther {
		return err
	}
	fault := protocol.FaultOfCode(uint32(coded.Code()), coded.Message())
	if fault != throttle.FaultAvailability && fault != throttle.FaultQuota {
		return protocol.WithFault(err, fault)
	}
	delay, delayed := delayOf(coded)
	if delayed || fault == throttle.FaultAvailability {
		err = faults.WithUnavailable(err, delay)
	}
	if fault == throttle.FaultQuota {
		err = faults.WithResourceExhausted(err)
	}
	return err
}

// delayOf returns the delay of the RetryInfo, else of Retry-After, else of the pushback, if there is one,
// between 0 and protocol.MaxDelay.
func delayOf(coded *connect.Error) (time.Duration, bool) {
	for _, detail := range coded.Details() {
		if detail.Type() != "google.rpc.RetryInfo" {
			continue
		}
		value, _ := detail.Value() // nil if the sender's bytes are malformed
		if info, ok := value.(*errdetails.RetryInfo); ok && info.GetRetryDelay() != nil {
			return min(max(0, info.GetRetryDelay().AsDuration()), protocol.MaxDelay), true
		}
	}
	if !connect.IsWireError(coded) {
		return 0, false // Meta writes to an error without metadata, and handlers may share an error
	}
	err := httpthrottle.StatusError(&http.Response{StatusCode: http.StatusTooManyRequests, Header: coded.Meta()})
	if delayed, _ := faults.AsUnavailable(err); delayed != nil {
		return delayed.RetryInfo.RetryDelay, true
	}
	delay, _ := protocol.Pushback(coded.Meta()[pushbackHeader])
	return min(delay, protocol.MaxDelay), delay > 0
}

// ToError returns err with the code for its fault, the reverse of [FromError]. A conflict becomes
// Aborted. A shed becomes Unavailable with a RetryInfo, and its message names neither throttle nor
// key. A [Server] converts the errors of handlers with it. errors.Is and errors.As still find the
// fault, for outer interceptors.
//
// An error that has a code keeps it. Nil and errors without a fault are returned unchanged.
func ToError(err error) error {
	if err == nil {
		return nil
	}
	coded, ok := codedOf(err)
	if isShed(err) && (!ok || isPublic(coded)) {
		return &shedError{err, protocol.Delay(err)}
	}
	code := connect.Code(protocol.CodeOf(throttle.FaultOf(err)))
	if ok || code == connect.CodeUnknown {
		return err
	}
	coded = connect.NewError(code, err)
	if delay := protocol.Delay(err); delay > 0 {
		addDelay(coded, delay)
	}
	return coded
}

func codedOf(err error) (*connect.Error, bool) {
	var coded *connect.Error
	ok := errors.As(err, &coded)
	return coded, ok && coded != nil
}
