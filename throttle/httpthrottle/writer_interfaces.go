package httpthrottle

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Handlers detect the abilities of a ResponseWriter by its interfaces, so ours must have exactly
// those of the server's own. Four interfaces matter, and each combination has a type, which adds one
// method to those of a smaller combination. Each type is one pointer, so converting it to an interface
// does not allocate.
type (
	withF    struct{ *writer }
	withH    struct{ *writer }
	withFH   struct{ withF }
	withR    struct{ *writer }
	withFR   struct{ withF }
	withHR   struct{ withH }
	withFHR  struct{ withFH }
	withP    struct{ *writer }
	withFP   struct{ withF }
	withHP   struct{ withH }
	withFHP  struct{ withFH }
	withRP   struct{ withR }
	withFRP  struct{ withFR }
	withHRP  struct{ withHR }
	withFHRP struct{ withFHR }
)

// The bits of a set of interfaces.
const (
	flusher = 1 << iota
	hijacker
	readerFrom
	pusher
)

func interfacesOf(w http.ResponseWriter) int {
	s := 0
	if _, ok := w.(http.Flusher); ok {
		s |= flusher
	}
	if _, ok := w.(http.Hijacker); ok {
		s |= hijacker
	}
	if _, ok := w.(io.ReaderFrom); ok {
		s |= readerFrom
	}
	if _, ok := w.(http.Pusher); ok {
		s |= pusher
	}
	return s
}

func (w *writer) as(server http.ResponseWriter) http.ResponseWriter {
	f, h := withF{w}, withH{w}
	fh := withFH{f}
	switch interfacesOf(server) {
	case flusher:
		return f
	case hijacker:
		return h
	case flusher | hijacker:
		return fh
	case readerFrom:
		return withR{w}
	case flusher | readerFrom:
		return withFR{f}
	case hijacker | readerFrom:
		return withHR{h}
	case flusher | hijacker | readerFrom:
		return withFHR{fh}
	case pusher:
		return withP{w}
	case flusher | pusher:
		return withFP{f}
	case hijacker | pusher:
		return withHP{h}
	case flusher | hijacker | pusher:
		return withFHP{fh}
	case readerFrom | pusher:
		return withRP{withR{w}}
	case flusher | readerFrom | pusher:
		return withFRP{withFR{f}}
	case hijacker | readerFrom | pusher:
		return withHRP{withHR{h}}
	case flusher | hijacker | readerFrom | pusher:
		return withFHRP{withFHR{fh}}
	}
	return w
}

// Flush implements http.Flusher, which has no error.
func (w withF) Flush() { _ = w.FlushError() }

func (w withH) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withFH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

func (w withR) ReadFrom(src io.Reader) (int64, error)   { return w.readFrom(src) }
func (w withFR) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w withHR) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w withFHR) ReadFrom(src io.Reader) (int64, error) { return w.readFrom(src) }

func (w withP) Push(target string, o *http.PushOptions) error    { return w.push(target, o) }
func (w withFP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withHP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withFHP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withRP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withFRP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withHRP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withFHRP) Push(target string, o *http.PushOptions) error { return w.push(target, o) }
