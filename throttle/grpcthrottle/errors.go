package grpcthrottle

import (
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
)

// notMade returns the error, with a gRPC status, of a call that was not made: its context had ended, or
// its priority was refused. It returns the error of a shed call unchanged.
func notMade(err error) error {
	if isShed(err) {
		return err
	}
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return &statusError{err, s}
	}
	return &statusError{err, status.New(codes.Internal, err.Error())}
}

// shedError is the error of a shed call. It builds its status only on request.
type shedError struct{ error }

func (e *shedError) Unwrap() error   { return e.error }
func (e *shedError) Temporary() bool { return false } // as that of a throttle.ShedError

// GRPCStatus returns the status of the error. Its message names neither the throttle nor the key: a
// handler may return the error, and then gRPC sends the status to a remote caller.
func (e *shedError) GRPCStatus() *status.Status {
	return newStatus(codes.Unavailable, throttle.ErrShed.Error(), appendDelay(nil, e.error)...)
}

type statusError struct {
	error
	status *status.Status
}

func (e *statusError) Unwrap() error              { return e.error }
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// grpcStatus is the method by which gRPC finds the status of an error.
type grpcStatus interface{ GRPCStatus() *status.Status }

func hasStatus(err error) bool {
	var owner grpcStatus
	return errors.As(err, &owner)
}

func hasForeignStatus(err error) bool {
	var owner grpcStatus
	if !errors.As(err, &owner) {
		return false
	}
	_, shed := owner.(*shedError)
	return !shed
}

func isShed(err error) bool { return errors.Is(err, throttle.ErrShed) }

// pushbackKey is the key of the trailer that the retry policies of gRPC clients obey: a delay in
// milliseconds, or a negative number for no retry.
const pushbackKey = "grpc-retry-pushback-ms"

// shedAnswer is the answer of a server to a shed call. It names no throttle and no key, because
// callers may be untrusted. It adds no jitter: the sheds are spread like the calls, and an equal
// delay keeps them spread.
type shedAnswer struct {
	status  *status.Status
	trailer metadata.MD
}

func newShedAnswer(retryAfter, pushback time.Duration) *shedAnswer {
	ms := int64(-1)
	if pushback > 0 {
		ms = max(1, pushback.Milliseconds())
	}
	return &shedAnswer{
		status:  newStatus(codes.Unavailable, throttle.ErrShed.Error(), retryInfo(retryAfter)),
		trailer: metadata.Pairs(pushbackKey, strconv.FormatInt(ms, 10)),
	}
}

// to returns the error to send for err. If err is a shed, it also sets the trailer.
func (a *shedAnswer) to(err error, setTrailer func(metadata.MD)) error {
	if isShed(err) {
		setTrailer(a.trailer)
		if !hasForeignStatus(err) {
			return &statusError{err, a.status}
		}
	}
	return ToStatus(err)
}
