package protocol

import (
	"context"
	"errors"
	"strings"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

const unknown uint32 = 2

const resourceExhausted uint32 = 8

type codeOf struct {
	code  uint32
	fault throttle.Fault
}

// codes returns the codes that have a fault. If two have the same fault, the first one is sent for it.
func codes() [14]codeOf {
	return [...]codeOf{
		{1, throttle.FaultCanceled},
		{3, throttle.FaultBad}, // InvalidArgument
		{4, throttle.FaultTimeout},
		{5, throttle.FaultMissing},
		{7, throttle.FaultPermission},
		{resourceExhausted, throttle.FaultQuota},
		{9, throttle.FaultPrecondition},
		{10, throttle.FaultConflict}, // Aborted
		{6, throttle.FaultConflict},  // AlreadyExists
		{11, throttle.FaultBad},      // OutOfRange
		{12, throttle.FaultUnimplemented},
		{14, throttle.FaultAvailability},
		{16, throttle.FaultAuthentication},
		{unknown, throttle.FaultOther},
	}
}

// FaultOfCode returns the fault for a code of gRPC or Connect, which have the same numbers. It returns
// FaultNone for OK, and FaultOther for a code that says nothing: Unknown, Internal, DataLoss.
//
// By default a throttle counts Unavailable, ResourceExhausted and DeadlineExceeded as
// [throttle.Rejected], Canceled as [throttle.Ignored] unless it is late (Config.CanceledAfter), and all
// others as [throttle.Accepted]. ResourceExhausted, and Unavailable with a delay, also say that the backend
// is full: see [throttle.MarkOverloaded]. Unavailable without one may have other reasons than load, and so
// may DeadlineExceeded.
//
// gRPC and Connect also return ResourceExhausted for a message that is too large. That is not a lack
// of capacity, so its fault is FaultBad. The text of the message is the only difference.
func FaultOfCode(code uint32, message string) throttle.Fault {
	switch {
	case code == 0:
		return throttle.FaultNone
	case code == resourceExhausted && isTooLarge(message):
		return throttle.FaultBad
	}
	for _, c := range codes() {
		if c.code == code {
			return c.fault
		}
	}
	return throttle.FaultOther
}

// CodeOf returns the code of gRPC and Connect for an answer with a fault, or that of Unknown.
func CodeOf(f throttle.Fault) uint32 {
	for _, c := range codes() {
		if c.fault == f {
			return c.code
		}
	}
	return unknown
}

// isTooLarge reports whether grpc-go or connect-go says with this text that a message is too large.
func isTooLarge(message string) bool {
	for _, text := range [...]string{
		"message larger than max", "decompression larger than max", // grpc-go
		"exceeds sendMaxBytes", "larger than configured max", "exceeds getURLMaxBytes", "http.MaxBytesReader limit", // connect-go
	} {
		if strings.Contains(message, text) {
			return true
		}
	}
	return false
}

// WithFault returns err wrapped in a fault, which throttles classify. It returns err unchanged if f is
// none of the faults that an answer can have.
func WithFault(err error, f throttle.Fault) error {
	switch f {
	case throttle.FaultAvailability:
		return faults.WithUnavailable(err, 0)
	case throttle.FaultQuota:
		return faults.WithResourceExhausted(err)
	case throttle.FaultTimeout:
		return &endedError{err, context.DeadlineExceeded}
	case throttle.FaultCanceled:
		return &endedError{err, context.Canceled}
	case throttle.FaultBad:
		return faults.WithBad(err)
	case throttle.FaultAuthentication:
		return faults.WithUnauthenticated(err)
	case throttle.FaultPermission:
		return faults.WithPermissionDenied(err)
	case throttle.FaultMissing:
		return faults.WithNotFound(err)
	case throttle.FaultConflict:
		return faults.WithAborted(err)
	case throttle.FaultPrecondition:
		return faults.WithFailedPrecondition(err)
	case throttle.FaultUnimplemented:
		return faults.WithUnimplemented(err)
	}
	return err
}

// Ignore returns err wrapped, so that [Throttles] ignore the call, however late it was cancelled, unless
// the Classify of their Config decides. The fault is that of err.
func Ignore(err error) error { return &ignoredError{err} }

type ignoredError struct{ error }

func (e *ignoredError) Unwrap() error { return e.error }

func isIgnored(err error) bool {
	var ignored *ignoredError
	return errors.As(err, &ignored)
}

// endedError is an error which means that a context has ended: the backend's or the caller's.
type endedError struct {
	error
	cause error // that of the context
}

func (e *endedError) Unwrap() error        { return e.error }
func (e *endedError) Is(target error) bool { return target == e.cause }
func (e *endedError) Timeout() bool        { return errors.Is(e.cause, context.DeadlineExceeded) }
