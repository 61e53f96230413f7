package httpthrottle

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// failure is what the throttle is told of a request that got no response. What has a meaning already keeps it; the caller gets
// err itself anyway. If the request was at fault itself, its server's middleware knows that too: a proxy answers 502 to strangers who send
// what cannot be forwarded, and must not take them for a sign that it is short of something.
func failure(r *http.Request, body *upload, err error) error {
	if throttle.FaultOf(err) != throttle.FaultOther {
		return err
	}
	if reason := ended(r); reason != nil {
		return &reasonedError{reason, err}
	}
	if body != nil && body.spoilt.Load() || malformed(r, err) || unsendable(err) {
		own := &ownFaultError{faults.WithBad(err)}
		explain(r.Context(), own)
		return own
	}
	return faults.WithUnavailable(err, 0)
}

// ended returns why the request was over before it had a response, or nil if its caller still waits. The deadline is looked at
// as well: http.Client keeps its timeout with the Cancel channel too, which may be faster than the context.
func ended(r *http.Request) error {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	select {
	//lint:ignore SA1019 http.Client sets it
	case <-r.Cancel: //nolint:staticcheck // http.Client sets it
		return context.Canceled
	default:
		return nil
	}
}

// reasonedError is an error of which more is known than it says.
type reasonedError struct{ reason, err error }

func (e *reasonedError) Error() string   { return e.err.Error() }
func (e *reasonedError) Unwrap() []error { return []error{e.reason, e.err} }

// ownFaultError is an error which says nothing about the backend: the request was at fault.
type ownFaultError struct{ err error }

func (e *ownFaultError) Error() string { return e.err.Error() }
func (e *ownFaultError) Unwrap() error { return e.err }

// ignorePanic is a Classifier that comes before the user's: a panic says nothing, whatever anybody makes of errors.
func ignorePanic(_ context.Context, err error) (throttle.Outcome, bool) {
	return throttle.Ignored, errors.Is(err, throttle.ErrPanicked)
}

// ignoreOwnFault is a Classifier.
func ignoreOwnFault(_ context.Context, err error) (throttle.Outcome, bool) {
	var own *ownFaultError
	return throttle.Ignored, errors.As(err, &own)
}

// malformed reports whether the request could not have been sent, whoever the server is.
func malformed(r *http.Request, err error) bool {
	var network net.Error
	if errors.As(err, &network) {
		return false
	}
	if r.URL == nil || r.Header == nil || r.URL.Host == "" {
		return true
	}
	known := r.URL.Scheme == "http" || r.URL.Scheme == "https"
	return !known || r.Method != "" && !isToken(r.Method) || r.Body == nil && r.ContentLength > 0 ||
		!sound(r.Header) || !sound(r.Trailer)
}

// unsendable reports whether net/http says that it would not send the request to anybody, or not over this version of HTTP. It finds that
// out when it has a connection, and its errors have no names, only texts. They are compared from the beginning on, because other texts
// quote what a server sent. Strangers can make such requests, and a proxy must not hold them against the server behind it.
func unsendable(err error) bool {
	var network net.Error
	if errors.As(err, &network) {
		return false
	}
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		for _, beginning := range [...]string{
			"http2: invalid ", // header, host, path or trailer
			"http2: request header list larger than ",
			"http2: request body larger than ",
			"http: ContentLength=", // with a body of another length
			"net/http: can't write control character in Request.URL",
			"idna: ", // the host
		} {
			if strings.HasPrefix(text, beginning) {
				return true
			}
		}
	}
	return false
}

// sound reports whether a header can be sent.
func sound(h http.Header) bool {
	for name, values := range h {
		if !isToken(name) {
			return false
		}
		for _, v := range values {
			if strings.ContainsFunc(v, isControl) {
				return false
			}
		}
	}
	return true
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// isToken reports whether s is a token of RFC 9110, as methods and names of fields are.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
