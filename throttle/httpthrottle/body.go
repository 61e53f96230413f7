package httpthrottle

import (
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
)

// responseBody is the body of a response. It ends its call at the last byte, at an error, or at
// Close.
type responseBody struct {
	io.ReadCloser
	call throttle.Call
}

// duplexBody is the body of a 101 Switching Protocols response. The caller also writes to it.
type duplexBody struct {
	responseBody
	io.Writer
}

// halfCloser is a connection that can be closed for writing only.
type halfCloser interface {
	io.Writer
	CloseWrite() error
}

// halfCloseBody is a duplexBody that can be closed for writing only.
type halfCloseBody struct {
	responseBody
	halfCloser
}

// newResponseBody wraps the body of a response, so that it ends the call. If the response has no
// body, it ends the call at once.
func newResponseBody(b io.ReadCloser, call throttle.Call, method string) io.ReadCloser {
	if b == nil || b == http.NoBody || method == http.MethodHead {
		call.Done(nil)
		return b
	}
	wrapped := responseBody{ReadCloser: b, call: call}
	switch w := b.(type) {
	case halfCloser:
		return &halfCloseBody{wrapped, w}
	case io.Writer:
		return &duplexBody{wrapped, w}
	}
	return &wrapped
}

// Read reads from the body. At its end, or at an error, it ends the call.
func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.call.Done(nil)
	} else if err != nil {
		b.call.Done(err)
	}
	return n, err
}

// Close closes the body and ends the call, also if closing panics.
func (b *responseBody) Close() error {
	defer b.call.Done(nil)
	return b.ReadCloser.Close()
}

// requestBody is the body of a request. It records a failed read, which is not the backend's fault:
// the client of a proxy broke off its upload, for example.
type requestBody struct {
	io.ReadCloser
	closed, failed atomic.Bool
}

// mayFail reports whether reading the request's body may fail. A body in memory cannot fail. A file
// is left as it is, because the kernel sends it fastest.
func mayFail(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody || r.GetBody != nil {
		return false
	}
	_, file := r.Body.(*os.File)
	return !file
}

// Read reads from the body. It does not record an error after Close, which has another cause.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !b.closed.Load() {
		b.failed.Store(true)
	}
	return n, err
}

// Close closes the body.
func (b *requestBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}
