package httpthrottle

import (
	"io"
	"net/http"

	"github.com/spillway-go/spillway/throttle"
)

// body is a response's body that ends its call: with its last byte, with an error, or when it is closed.
type body struct {
	io.ReadCloser
	call throttle.Call
}

// duplexBody is the body of a response after which the connection belongs to the caller, who writes to it: 101 Switching Protocols.
type duplexBody struct {
	body
	io.Writer
}

// halfCloser is a connection that can be closed for writing only.
type halfCloser interface {
	io.Writer
	CloseWrite() error
}

// halfCloseBody is a duplexBody whose other direction can be closed by itself.
type halfCloseBody struct {
	body
	halfCloser
}

// watch returns the body of a response as one that ends the call. If no body can come, the call ends now.
func watch(b io.ReadCloser, call throttle.Call, method string) io.ReadCloser {
	if b == nil || b == http.NoBody || method == http.MethodHead {
		call.Done(nil)
		return b
	}
	ends := body{ReadCloser: b, call: call}
	switch w := b.(type) {
	case halfCloser:
		return &halfCloseBody{ends, w}
	case io.Writer:
		return &duplexBody{ends, w}
	}
	return &ends
}

// Read reads on, and ends the call with the end of the body.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.call.Done(nil)
	} else if err != nil {
		b.call.Done(err)
	}
	return n, err
}

// Close closes the body and ends the call, also if closing panics.
func (b *body) Close() error {
	defer b.call.Done(nil)
	return b.ReadCloser.Close()
}
