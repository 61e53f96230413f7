package httpthrottle

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/protocol"
)

// ResponseError is the error of a response with a status of 400 or more. errors.As finds it in the
// errors of [StatusError].
type ResponseError struct {
	StatusCode int // status of the response

	fault error // fault for the status, with the delay from Retry-After; nil if there is none
}

// Error returns the status as number and text.
func (e *ResponseError) Error() string {
	text := http.StatusText(e.StatusCode)
	if text == "" {
		text = "(unknown status)"
	}
	return fmt.Sprintf("httpthrottle: %d %s", e.StatusCode, text)
}

// Unwrap returns the fault for the status, or nil. If the server sent a delay, the fault contains
// it as a faults.AvailabilityFailure.
func (e *ResponseError) Unwrap() error { return e.fault }

// Timeout reports whether the status is 504 Gateway Timeout.
func (e *ResponseError) Timeout() bool { return e.StatusCode == http.StatusGatewayTimeout }

// StatusError returns the error that a throttle records for a response: nil for a status below 400,
// otherwise a [ResponseError] that wraps the fault for the status:
//
//	400       bad
//	401       authentication
//	403       permission
//	404, 410  missing
//	409       conflict
//	412, 428  precondition
//	429       quota           Rejected, full
//	501       unimplemented
//	502, 503  availability    Rejected; with Retry-After: full
//	504       timeout         Rejected; with Retry-After: full
//
// Statuses without "Rejected" are Accepted. So is any other status of 400 or more, which is an
// error without a fault. That includes 500: the server may have capacity. Retry-After of a 429,
// 502, 503 or 504, in seconds or as a date, becomes the RetryDelay that faults.AsUnavailable finds,
// at most 1 h.
//
// Full means that the server says that it has no capacity: see [throttle.MarkOverloaded]. Without
// Retry-After, or with one of 0, the others may have other reasons than load. A [Middleware] that sheds
// always sends it.
//
// A call of gRPC or gRPC-Web has the status 200 and a code of its own, in the header or, with gRPC, in
// the trailer. Unavailable, ResourceExhausted and DeadlineExceeded are Rejected, Canceled is Ignored,
// and all other codes are Accepted. ResourceExhausted means full, and so does Unavailable with a
// Grpc-Retry-Pushback-Ms other than 0. The code is found once the header or the trailer has arrived.
func StatusError(r *http.Response) error {
	if r == nil {
		return nil
	}
	if r.StatusCode == http.StatusOK && isGRPC(r.Header) {
		if hasGRPCStatus(r.Header) {
			return grpcStatusError(r.Header)
		}
		return grpcStatusError(r.Trailer)
	}
	return statusError(r.StatusCode, r.Header)
}

// StatusCodeError is [StatusError] for a status without a header, for example one that a framework
// reports after its handler. It returns nil for a status below 400. Of a rejection, only 429 says that
// the server is full.
func StatusCodeError(status int) error { return statusError(status, nil) }

func statusError(status int, h http.Header) error {
	if status < http.StatusBadRequest {
		return nil
	}
	return &ResponseError{StatusCode: status, fault: faultOf(status, h)}
}

// faultOf returns the fault for a status, or nil. ResponseError wraps it, and not the other way
// round, so that the text of the error names the status.
func faultOf(status int, h http.Header) error {
	switch status {
	case http.StatusBadRequest:
		return faults.Bad()
	case http.StatusUnauthorized:
		return faults.Unauthenticated
	case http.StatusForbidden:
		return faults.PermissionDenied
	case http.StatusNotFound, http.StatusGone:
		return faults.NotFound
	case http.StatusConflict:
		return faults.Aborted()
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return faults.FailedPrecondition()
	case http.StatusNotImplemented:
		return faults.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return rejectionOf(status, h)
	}
	return nil
}

// rejectionOf returns the fault for a status that counts as a rejection. 504 has none of its own:
// ResponseError.Timeout reports it.
func rejectionOf(status int, h http.Header) error {
	delay, delayed := retryAfter(h, time.Now())
	switch {
	case status == http.StatusTooManyRequests && delayed:
		return faults.WithResourceExhausted(faults.Unavailable(delay))
	case status == http.StatusTooManyRequests:
		return faults.ResourceExhausted()
	case status == http.StatusGatewayTimeout && !delayed:
		return nil
	}
	return faults.Unavailable(delay)
}

// retryAfter returns the delay in a header, and whether the header has a valid one. A date is
// relative to the sender's clock if the header has a Date, otherwise to now.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return min(time.Duration(seconds)*time.Second, protocol.MaxDelay), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(0, min(at.Sub(now), protocol.MaxDelay)), true
}
