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

	cause error // the delay that a server asked for, where it must not hide what else the status says
}

// Error says the status, in number and words.
func (e *ResponseError) Error() string {
	text := http.StatusText(e.StatusCode)
	if text == "" {
		text = "(unknown status)"
	}
	return fmt.Sprintf("httpthrottle: %d %s", e.StatusCode, text)
}

// Unwrap returns the delay that the server asked for, as a faults.AvailabilityFailure, or nil.
func (e *ResponseError) Unwrap() error { return e.cause }

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
	e := &ResponseError{StatusCode: status}
	switch status {
	case http.StatusBadRequest:
		return faults.WithBad(e)
	case http.StatusUnauthorized:
		return faults.WithUnauthenticated(e)
	case http.StatusForbidden:
		return faults.WithPermissionDenied(e)
	case http.StatusNotFound, http.StatusGone:
		return faults.WithNotFound(e)
	case http.StatusConflict:
		return faults.WithAborted(e)
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return faults.WithFailedPrecondition(e)
	case http.StatusNotImplemented:
		return faults.WithUnimplemented(e)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return e.withDelay(retryAfter(h, time.Now()))
	}
	return e
}

// withDelay makes a fault of a status that counts as a rejection, with the delay that was asked for, if any was.
func (e *ResponseError) withDelay(delay time.Duration, asked bool) error {
	if e.StatusCode == http.StatusBadGateway || e.StatusCode == http.StatusServiceUnavailable {
		return faults.WithUnavailable(e, delay)
	}
	if asked {
		e.cause = faults.Unavailable(delay)
	}
	if e.StatusCode == http.StatusTooManyRequests {
		return faults.WithResourceExhausted(e)
	}
	return e
}
