package httpthrottle

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/dependency"
)

// writer is a ResponseWriter that records the outcome of its call when the header is written.
type writer struct {
	http.ResponseWriter
	call     throttle.Call
	waited   stopwatch
	load     loadHeader
	expects  bool        // the client has sent Expect: 100-continue
	recorded atomic.Bool // the call has its outcome
	sent     atomic.Bool // a final status was written, or WriteError is writing one
	grpc     atomic.Bool // the outcome comes with the first message of gRPC, or with its code in the trailer

	meaning atomic.Pointer[error] // error for a status that is not a success, see setMeaning
	request dependency.Request    // its context ends when the client disconnects
}

// handlerContext is the context of the handler's request. It leads to the middleware's writer, even
// if another writer hides that one, as http.TimeoutHandler does. It is one pointer, so converting
// it to an interface does not allocate.
type handlerContext struct{ writer *writer }

type writerKey struct{}

func (c handlerContext) Deadline() (time.Time, bool) { return c.writer.call.Context().Deadline() }
func (c handlerContext) Done() <-chan struct{}       { return c.writer.call.Context().Done() }
func (c handlerContext) Err() error                  { return c.writer.call.Context().Err() }

func (c handlerContext) Value(key any) any {
	switch key.(type) { // to compare values would call the runtime
	case writerKey:
		return c.writer
	case dependency.Key:
		return &c.writer.request
	}
	return c.writer.call.Context().Value(key)
}

// setMeaning stores err in the writer of each middleware around ctx, where no earlier error is
// stored. It is for middlewares that cannot be reached through their ResponseWriter. Each records
// err in place of its final status, if that is not a success. A handler may still write a success:
// it may have tried several requests of its own.
func setMeaning(ctx context.Context, err error) {
	for {
		w, ok := ctx.Value(writerKey{}).(*writer)
		if !ok {
			return
		}
		w.meaning.CompareAndSwap(nil, &err)
		ctx = w.request.Context
	}
}

// wroteStatus records the outcome for the final status of the response, which is the first that is
// not 1xx, or 101.
func (w *writer) wroteStatus(status int) {
	final := status >= http.StatusOK || status == http.StatusSwitchingProtocols
	if !final || status > 999 || w.sent.Load() { // above 999 the server's own writer panics
		return
	}
	w.sent.Store(true)
	h := w.Header()
	grpc := status == http.StatusOK && isGRPC(h)
	w.load.set(h, grpc || status >= http.StatusBadRequest)
	if w.recorded.Load() {
		return
	}
	if grpc {
		if hasGRPCStatus(h) {
			w.record(w.meaningOf(grpcStatusError(h)))
		} else {
			w.grpc.Store(true)
		}
		return
	}
	w.record(w.meaningOf(statusError(status, h)))
}

func (w *writer) wrote(n int) {
	if n > 0 && w.grpc.Load() {
		w.record(nil)
	}
}

// meaningOf returns the error to record for an answer, which is err, or nil for a success.
func (w *writer) meaningOf(err error) error {
	if err == nil {
		return nil
	}
	if meaning := w.meaning.Load(); meaning != nil {
		return *meaning
	}
	return w.request.Outcome(err)
}

// Tell sets the error that the throttle classifies, in place of the status that the handler is
// about to write. For example, a 429 to one caller over a limit of its own is not a lack of
// capacity. The throttle classifies err as [throttle.Call.Answered] does, here and in every
// middleware around this one. Only the first call of Tell counts. The status is written as it is.
func (w *writer) Tell(err error) {
	w.record(err)
	reportOutside(w.request.Context, w.ResponseWriter, err)
}

// reportOutside calls the Tell method of the first writer below w that has one. Without such a
// writer, it calls setMeaning for the middlewares around ctx.
func reportOutside(ctx context.Context, w http.ResponseWriter, err error) {
	for {
		switch v := w.(type) {
		case interface{ Tell(error) }:
			v.Tell(err)
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			setMeaning(ctx, err)
			return
		}
	}
}

func (w *writer) record(err error) {
	if w.recorded.Swap(true) {
		return
	}
	w.call.Answered(w.outcome(err))
}

// outcome returns the error to classify for a request that is answered now. err is the error of the
// answer. If the request's deadline has passed or its client has disconnected, the client does not
// get the answer. An outer handler, such as http.TimeoutHandler, may have answered in its place. If
// the handler has waited for a dependency that failed, that is not a lack of capacity here.
func (w *writer) outcome(err error) error {
	over := ended(w.request.Context)
	if over == nil {
		return err
	}
	outside := w.request.Failed() || throttle.DefaultClassify(w.request.Context, err) == throttle.Ignored
	switch {
	case errors.Is(over, context.Canceled) && !outside && w.waited.long():
		return throttle.MarkRejected(over)
	case errors.Is(over, context.DeadlineExceeded) && outside:
		return dependency.Repeat(over)
	}
	return over
}

// ended returns the error of a context that has ended, or nil. A passed deadline counts before a
// cancellation: the client may have had the same deadline, and have disconnected first.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func (w *writer) end(returned bool) {
	if !w.sent.Load() { // after a panic, an outer handler may answer
		w.load.set(w.Header(), !returned || isGRPC(w.Header()))
	}
	switch {
	case !returned:
		w.call.Done(throttle.ErrPanicked)
	case w.recorded.Load():
		w.call.Done(nil)
	default: // the server writes 200 if the client is still connected
		var err error
		if isGRPC(w.Header()) {
			err = w.meaningOf(grpcStatusError(w.Header()))
		}
		w.call.Done(w.outcome(err))
	}
}

// Unwrap returns the server's own ResponseWriter, for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader writes the header and records the outcome.
func (w *writer) WriteHeader(status int) {
	if w.cutsOff(status) {
		closeAfterAnswer(w.ResponseWriter)
	}
	w.wroteStatus(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.wroteStatus(http.StatusOK)
	w.wrote(len(p))
	return w.ResponseWriter.Write(p)
}

func (w *writer) WriteString(s string) (int, error) {
	w.wroteStatus(http.StatusOK)
	w.wrote(len(s))
	return io.WriteString(w.ResponseWriter, s)
}

// FlushError flushes the response, for [http.ResponseController]. Every writer has it, because it
// is not part of http.Flusher. Without it the controller would unwrap the writer and flush the
// server's own, and the outcome would not be recorded.
func (w *writer) FlushError() error {
	server := flushable(w.ResponseWriter)
	if server == nil {
		return http.ErrNotSupported
	}
	w.wroteStatus(http.StatusOK)
	if f, ok := server.(interface{ FlushError() error }); ok {
		return f.FlushError()
	}
	server.(http.Flusher).Flush()
	return nil
}

// flushable returns the first writer that can flush: w or one that it wraps. It returns nil if
// there is none.
func flushable(w http.ResponseWriter) http.ResponseWriter {
	for {
		switch v := w.(type) {
		case interface{ itself() *writer }:
			if flushable(v.itself().ResponseWriter) == nil {
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

func (w *writer) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		w.wroteStatus(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}

// Push returns http.ErrNotSupported if the server's own writer cannot push.
func (w *writer) Push(target string, options *http.PushOptions) error {
	if server, ok := w.ResponseWriter.(http.Pusher); ok {
		return server.Push(target, options)
	}
	return http.ErrNotSupported
}

// sniffed is the number of bytes from which a server detects the type of a body.
const sniffed = 512

// ReadFrom copies from src with the server's own ReadFrom, if it has one, so that the kernel may do the
// copying. The server gets the first bytes through a firstRead, so that the outcome is recorded when the
// body begins and not at its end. An empty source records nothing: the handler can still write an error.
func (w *writer) ReadFrom(src io.Reader) (copied int64, err error) {
	server, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	if !w.sent.Load() || w.grpc.Load() {
		copied, err = server.ReadFrom(io.LimitReader(firstRead{w, src}, sniffed))
		if err != nil || copied < sniffed {
			return copied, err
		}
	}
	n, err := server.ReadFrom(src)
	return copied + n, err
}

// firstRead reads what a server is about to write.
type firstRead struct {
	writer *writer
	src    io.Reader
}

func (r firstRead) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	if n > 0 {
		r.writer.wroteStatus(http.StatusOK)
		r.writer.wrote(n)
	}
	return n, err
}
