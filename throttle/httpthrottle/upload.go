package httpthrottle

import (
	"io"
	"net/http"
	"os"
	"sync/atomic"
)

// upload is a request's body that remembers whether it failed. It is the caller's then, and not the backend's: a proxy whose
// clients break off their uploads must not hold that against the server behind it.
type upload struct {
	io.ReadCloser
	closed, spoilt atomic.Bool
}

// streams reports whether the request has a body that may fail: not one from memory, which can be had again, nor a file, which the
// kernel sends best if it can see it.
func streams(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody || r.GetBody != nil {
		return false
	}
	_, file := r.Body.(*os.File)
	return !file
}

// Read reads on. An error after Close is the consequence of another one, and is not remembered.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !u.closed.Load() {
		u.spoilt.Store(true)
	}
	return n, err
}

// Close closes the body.
func (u *upload) Close() error {
	u.closed.Store(true)
	return u.ReadCloser.Close()
}
