package httpthrottle

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"

	"github.com/spillway-go/spillway/throttle"
)

// writer is a ResponseWriter that tells its call what was answered.
type writer struct {
	http.ResponseWriter
	call throttle.Call
	ctx  context.Context // the request's, which is over when the client goes away
	told atomic.Bool     // the call knows its outcome
	sent atomic.Bool     // there is a final status, or WriteError has one under way

	meant atomic.Pointer[error] // what the status means if it is no success, see explain
}

// answered tells the call the final status of the response, which is the first. What comes before it is 1xx, but for 101.
func (w *writer) answered(status int) {
	final := status >= http.StatusOK || status == http.StatusSwitchingProtocols
	if !final || status > 999 || w.sent.Load() { // beyond 999 the server's own will panic
		return
	}
	w.sent.Store(true)
	if !w.told.Load() {
		w.tell(w.meaning(status))
	}
}

// meaning is what the call is told of a status.
func (w *writer) meaning(status int) error {
	err := statusError(status, w.Header())
	if meant := w.meant.Load(); meant != nil && err != nil {
		return *meant
	}
	return err
}

// Tell says what the answer means that the handler is about to write, where its status would say something else: a 429 to one caller, who
// is over a limit of his own, is no lack of capacity. Err is classified as [throttle.Call.Answered] does, here and in every middleware
// around this one, and the first to say anything is believed. The status goes out as it is.
func (w *writer) Tell(err error) {
	w.tell(err)
	tellOuter(w.ctx, w.ResponseWriter, err)
}

// tellOuter tells the nearest middleware in w, under whatever others have put around it, what the answer means. If something there hides it,
// those around ctx will see.
func tellOuter(ctx context.Context, w http.ResponseWriter, err error) {
	for {
		switch v := w.(type) {
		case interface{ Tell(error) }:
			v.Tell(err)
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			explain(ctx, err)
			return
		}
	}
}

// tell tells the call how it was answered, unless it was before.
func (w *writer) tell(err error) {
	if w.told.Swap(true) {
		return
	}
	if w.ctx.Err() == context.Canceled {
		err = context.Canceled // whatever the handler made of that
	}
	w.call.Answered(err)
}

// end ends the call when the handler has returned or panicked.
func (w *writer) end(returned bool) {
	switch {
	case !returned:
		w.call.Done(throttle.ErrPanicked)
	case w.told.Load():
		w.call.Done(nil)
	default: // the server will answer 200, if anybody is there
		w.call.Done(w.ctx.Err())
	}
}

// Unwrap returns the server's own ResponseWriter, for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader writes the header.
func (w *writer) WriteHeader(status int) {
	w.answered(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the body, after the header.
func (w *writer) Write(p []byte) (int, error) {
	w.answered(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// WriteString writes a part of the body, after the header.
func (w *writer) WriteString(s string) (int, error) {
	w.answered(http.StatusOK)
	return io.WriteString(w.ResponseWriter, s)
}

// FlushError sends what was written, as [http.ResponseController] asks. It is no http.Flusher's, so every writer has it: otherwise the
// controller would unwrap us, and find a server that we have not told of.
func (w *writer) FlushError() error {
	server := flushing(w.ResponseWriter)
	if server == nil {
		return http.ErrNotSupported
	}
	w.answered(http.StatusOK)
	if f, ok := server.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	server.(http.Flusher).Flush()
	return nil
}

// flushing returns the first of w, and what is under it, that can send what was written, or nil.
func flushing(w http.ResponseWriter) http.ResponseWriter {
	for {
		switch v := w.(type) {
		case interface{ itself() *writer }:
			if flushing(v.itself().ResponseWriter) == nil {
				return nil
			}
			return w
		case interface{ FlushError() error }, http.Flusher:
			return w
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return nil
		}
	}
}

// hijack takes the connection from the server.
func (w *writer) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		w.answered(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}

// push sends a response that was not asked for yet.
func (w *writer) push(target string, options *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, options)
}

// readFrom lets the server copy from a source. A file or a connection is shown to it as it is, since the kernel may do the
// copying, and then the call hears of it afterwards; of any other source it hears with the first bytes. An empty source
// answers nothing: the handler can still say that something went wrong.
func (w *writer) readFrom(src io.Reader) (int64, error) {
	server := w.ResponseWriter.(io.ReaderFrom)
	if w.sent.Load() {
		return server.ReadFrom(src)
	}
	if !forKernel(src) {
		return server.ReadFrom(&source{src, w})
	}
	n, err := server.ReadFrom(src)
	if n > 0 {
		w.answered(http.StatusOK)
	}
	return n, err
}

// forKernel reports whether the kernel can copy from a source.
func forKernel(src io.Reader) bool {
	if limited, ok := src.(*io.LimitedReader); ok {
		src = limited.R
	}
	_, ok := src.(syscall.Conn)
	return ok
}

// source is what a body is copied from.
type source struct {
	io.Reader
	w *writer
}

// Read reads on, and tells the call when there is something to write.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 {
		s.w.answered(http.StatusOK)
	}
	return n, err
}
