package httpthrottle

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Handlers detect the abilities of a ResponseWriter by its interfaces, so ours must have exactly
// those of the server's own. Four interfaces matter, and each combination has a type. Each type is
// one pointer, so converting it to an interface does not allocate.
type (
	withF    struct{ *writer }
	withH    struct{ *writer }
	withFH   struct{ *writer }
	withR    struct{ *writer }
	withFR   struct{ *writer }
	withHR   struct{ *writer }
	withFHR  struct{ *writer }
	withP    struct{ *writer }
	withFP   struct{ *writer }
	withHP   struct{ *writer }
	withFHP  struct{ *writer }
	withRP   struct{ *writer }
	withFRP  struct{ *writer }
	withHRP  struct{ *writer }
	withFHRP struct{ *writer }
)

// The bits of a set of interfaces.
const (
	flusher = 1 << iota
	hijacker
	readerFrom
	pusher
)

// interfacesOf returns the set of the four interfaces that w has.
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

// as returns the writer with exactly those of the four interfaces that server has.
func (w *writer) as(server http.ResponseWriter) http.ResponseWriter {
	switch interfacesOf(server) {
	case flusher:
		return withF{w}
	case hijacker:
		return withH{w}
	case flusher | hijacker:
		return withFH{w}
	case readerFrom:
		return withR{w}
	case flusher | readerFrom:
		return withFR{w}
	case hijacker | readerFrom:
		return withHR{w}
	case flusher | hijacker | readerFrom:
		return withFHR{w}
	case pusher:
		return withP{w}
	case flusher | pusher:
		return withFP{w}
	case hijacker | pusher:
		return withHP{w}
	case flusher | hijacker | pusher:
		return withFHP{w}
	case readerFrom | pusher:
		return withRP{w}
	case flusher | readerFrom | pusher:
		return withFRP{w}
	case hijacker | readerFrom | pusher:
		return withHRP{w}
	case flusher | hijacker | readerFrom | pusher:
		return withFHRP{w}
	}
	return w
}

// Flush implements http.Flusher, which has no error.
func (w withF) Flush()    { _ = w.FlushError() }
func (w withFH) Flush()   { _ = w.FlushError() }
func (w withFR) Flush()   { _ = w.FlushError() }
func (w withFHR) Flush()  { _ = w.FlushError() }
func (w withFP) Flush()   { _ = w.FlushError() }
func (w withFHP) Flush()  { _ = w.FlushError() }
func (w withFRP) Flush()  { _ = w.FlushError() }
func (w withFHRP) Flush() { _ = w.FlushError() }

func (w withH) Hijack() (net.Conn, *bufio.ReadWriter, error)    { return w.hijack() }
func (w withFH) Hijack() (net.Conn, *bufio.ReadWriter, error)   { return w.hijack() }
func (w withHR) Hijack() (net.Conn, *bufio.ReadWriter, error)   { return w.hijack() }
func (w withFHR) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withHP) Hijack() (net.Conn, *bufio.ReadWriter, error)   { return w.hijack() }
func (w withFHP) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withHRP) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withFHRP) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

func (w withR) ReadFrom(src io.Reader) (int64, error)    { return w.readFrom(src) }
func (w withFR) ReadFrom(src io.Reader) (int64, error)   { return w.readFrom(src) }
func (w withHR) ReadFrom(src io.Reader) (int64, error)   { return w.readFrom(src) }
func (w withFHR) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w withRP) ReadFrom(src io.Reader) (int64, error)   { return w.readFrom(src) }
func (w withFRP) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w withHRP) ReadFrom(src io.Reader) (int64, error)  { return w.readFrom(src) }
func (w withFHRP) ReadFrom(src io.Reader) (int64, error) { return w.readFrom(src) }

func (w withP) Push(target string, o *http.PushOptions) error    { return w.push(target, o) }
func (w withFP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withHP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withFHP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withRP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withFRP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withHRP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withFHRP) Push(target string, o *http.PushOptions) error { return w.push(target, o) }
