package httpthrottle

import (
	"fmt"
	"net/http"
	"time"

	"github.com/deixis/faults"
)

// ResponseError is what errors.As finds in the errors of [StatusError]: the status of a response that is no success.
type ResponseError struct {
	StatusCode int

	fault error // what the status means, with the delay that the server asked for; nil: a plain error
}

// Error says the status, in number and words.
func (e *ResponseError) Error() string {
	text := http.StatusText(e.StatusCode)
	if text == "" {
		text = "(unknown status)"
	}
	return fmt.Sprintf("httpthrottle: %d %s", e.StatusCode, text)
}

// Unwrap returns the fault that the status means, or nil. The fault wraps the delay that the server asked
// for, as a faults.AvailabilityFailure.
func (e *ResponseError) Unwrap() error { return e.fault }

// Timeout reports whether the status is 504 Gateway Timeout.
func (e *ResponseError) Timeout() bool { return e.StatusCode == http.StatusGatewayTimeout }

// StatusError returns what a response tells about its server: nil below 400, and a [ResponseError] otherwise, which the status
// makes a fault.
//
//	400       bad
//	401       authentication
//	403       permission
//	404, 410  missing
//	409       conflict
//	412, 428  precondition
//	429       quota           Rejected
//	501       unimplemented
//	502, 503  availability    Rejected
//	504       timeout         Rejected
//
// All others are plain errors: of a server which answers 500 nobody knows that it is out of capacity. A delay that the
// server asks for with 429, 502, 503 or 504 in Retry-After, in seconds or as a date, is the RetryDelay that
// faults.AsUnavailable finds, at most an hour.
func StatusError(r *http.Response) error {
	if r == nil {
		return nil
	}
	return statusError(r.StatusCode, r.Header)
}

// statusError is StatusError for what a server has answered, too.
func statusError(status int, h http.Header) error {
	if status < http.StatusBadRequest {
		return nil
	}
	return &ResponseError{StatusCode: status, fault: faultOf(status, h)}
}

// faultOf returns the fault that a status means. It is below the ResponseError, not around it, so that the
// text of the error names the status.
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

// rejectionOf returns the fault of a status that counts as a rejection. 504 has no fault of its own:
// ResponseError.Timeout reports it.
func rejectionOf(status int, h http.Header) error {
	delay, asked := retryAfter(h, time.Now())
	switch {
	case status == http.StatusTooManyRequests && asked:
		return faults.WithResourceExhausted(faults.Unavailable(delay))
	case status == http.StatusTooManyRequests:
		return faults.ResourceExhausted()
	case status == http.StatusGatewayTimeout && !asked:
		return nil
	}
	return faults.Unavailable(delay)
}
