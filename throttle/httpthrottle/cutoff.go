package httpthrottle

import (
	"io"
	"net/http"
	"strings"
)

// cutsOff reports whether an answer ends an upload in the middle, so that the server closes the
// connection. Handlers answer 413 if an [http.MaxBytesReader] is at its limit, and some another
// error. Without Expect: 100-continue, the server reads a short rest after any other error.
func (w *writer) cutsOff(status int) bool {
	return w.waited.midway.Load() &&
		(status == http.StatusRequestEntityTooLarge || w.expects && status >= http.StatusBadRequest)
}

// closeAfterAnswer makes the server around w answer with Connection: close, and keep the connection
// open for a moment, so that the client can read the answer. net/http does so for an
// [http.MaxBytesReader] that has its own writer and is at its limit, which this is.
func closeAfterAnswer(w http.ResponseWriter) {
	for {
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = inner.Unwrap()
	}
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("-")), 0).Read(make([]byte, 1))
}
