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
	"github.com/spillway-go/spillway/throttle/protocol"
)

// failure returns the error that the throttle records for a request without a response. The caller
// gets err itself. An error that already is a fault stays as it is, unless the request's body could not
// be read: the timeout of an upload is not the server's. If the request itself was at fault, failure also
// reports that to the middlewares around r's context. A proxy answers 502 to such a request, and that must
// not count as a rejection by the proxy.
func failure(r *http.Request, body *requestBody, err error) error {
	brokenOff := body != nil && body.failed.Load()
	if !brokenOff && throttle.FaultOf(err) != throttle.FaultOther {
		return err
	}
	switch cause := canceled(r); {
	case cause != nil && brokenOff:
		return protocol.Ignore(&causedError{cause, err}) // the server could not answer yet, however late it is
	case cause != nil:
		return &causedError{cause, err}
	}
	if brokenOff || malformed(r, err) || unsendable(err) {
		invalid := protocol.Ignore(faults.WithBad(err))
		setMeaning(r.Context(), invalid)
		return invalid
	}
	return faults.WithUnavailable(err, 0)
}

// canceled returns why the request ended before its response, or nil if the caller still waits. It
// looks at the deadline too: http.Client also ends a request through its Cancel channel, which may
// close before the context does.
func canceled(r *http.Request) error {
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

type causedError struct{ cause, err error }

func (e *causedError) Error() string   { return e.err.Error() }
func (e *causedError) Unwrap() []error { return []error{e.cause, e.err} }

// malformed reports whether no server could be sent this request.
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
		!validHeader(r.Header) || !validHeader(r.Trailer)
}

// unsendable reports whether err is an error of net/http about a request that it refuses to send,
// at all or over this version of HTTP. net/http detects that after it has a connection. Its errors
// have no types, so their texts are compared. Only the beginnings count, because other texts quote
// the server. The client of a proxy can cause such requests; they must not count against the
// backend.
func unsendable(err error) bool {
	var network net.Error
	if errors.As(err, &network) {
		return false
	}
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		for _, prefix := range [...]string{
			"http2: invalid ", // header, host, path, trailer
			"http2: request header list larger than ",
			"http2: request body larger than ",
			"http: ContentLength=", // the body has another length
			"net/http: can't write control character in Request.URL",
			"idna: ", // the host
		} {
			if strings.HasPrefix(text, prefix) {
				return true
			}
		}
	}
	return false
}

func validHeader(h http.Header) bool {
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

// isControl reports whether c is a control character that a header value may not have.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// isToken reports whether s is a token of RFC 9110. Methods and header names are tokens.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
