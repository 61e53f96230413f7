package connectthrottle

import (
	"context"
	"errors"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
)

const (
	retryAfterHeader = "Retry-After"
	// pushbackHeader is the trailer that the retry policies of gRPC clients obey.
	pushbackHeader = "Grpc-Retry-Pushback-Ms"
)

// notMade returns the error, with a code, of a call that was not made: its context had ended, or its
// priority was refused. It returns the error of a shed call unchanged.
func notMade(err error) error {
	switch {
	case isShed(err):
		return err
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	}
	return connect.NewError(connect.CodeInternal, err)
}

// shedError is the error of a shed call. It builds its connect.Error only on request.
type shedError struct {
	error
	delay time.Duration // for the caller
}

func (e *shedError) Unwrap() error   { return e.error }
func (e *shedError) Temporary() bool { return false } // as that of a throttle.ShedError

// As returns the error that connect sends. It names neither the throttle nor the key, because
// callers may be untrusted. A retry at once would undo the shed, so the pushback forbids gRPC
// clients to retry by themselves.
func (e *shedError) As(target any) bool {
	coded, ok := target.(**connect.Error)
	if ok {
		*coded = connect.NewError(connect.CodeUnavailable, throttle.ErrShed)
		(*coded).Meta().Set(pushbackHeader, "-1")
		addDelay(*coded, e.delay)
	}
	return ok
}

// addDelay adds a delay before a retry: as a RetryInfo, and in Retry-After for clients of HTTP.
func addDelay(coded *connect.Error, delay time.Duration) {
	if detail, err := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}); err == nil {
		coded.AddDetail(detail)
	}
	seconds := int64((delay + time.Second - 1) / time.Second)
	coded.Meta().Set(retryAfterHeader, strconv.FormatInt(seconds, 10))
}

func isShed(err error) bool { return errors.Is(err, throttle.ErrShed) }

// isPublic reports whether a shedError has made the error. An error that wraps more is the user's.
func isPublic(coded *connect.Error) bool {
	return coded.Code() == connect.CodeUnavailable && coded.Unwrap() == throttle.ErrShed
}
