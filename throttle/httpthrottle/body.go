package httpthrottle

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
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

type halfCloser interface {
	io.Writer
	CloseWrite() error
}

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

// grpcBody is the body of a response of gRPC whose code is in the trailer. The first byte of a
// message means that the call was accepted: a call that fails has mostly no message, and a stream
// may last long.
type grpcBody struct {
	io.ReadCloser
	call      throttle.Call
	transport *Transport
	request   *http.Request
	response  *http.Response // its Trailer is complete at the end of the body
	answered  bool           // a byte was read
}

// awaitsTrailer reports whether the code of a call of gRPC is not in the header of its response.
func awaitsTrailer(r *http.Response) bool {
	return r.StatusCode == http.StatusOK && isGRPC(r.Header) && !hasGRPCStatus(r.Header) && r.Body != nil && r.Body != http.NoBody
}

// Read reads from the body. At its end it records the outcome. If it breaks before the first byte, that is
// a request without a response: the code is not known.
func (b *grpcBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.answered = true
		b.call.Answered(nil)
	}
	switch {
	case err == io.EOF:
		defer b.call.Done(throttle.ErrPanicked) // has no effect unless judge panics
		b.call.Done(b.transport.judge(b.request, b.response))
	case err != nil && !b.answered:
		recorded := failure(b.request, nil, err)
		protocol.Report(b.request.Context(), recorded)
		b.call.Done(recorded)
	case err != nil:
		b.call.Done(err)
	}
	return n, err
}

// Close closes the body and ends the call. Without a message or trailer, the caller has given up.
func (b *grpcBody) Close() error {
	defer b.call.Done(context.Canceled)
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

func (b *requestBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}
