package httpthrottle

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Handlers find out what a ResponseWriter can do by asking for interfaces, so ours must have exactly those of the server's own. There
// are four that matter, and a type for each selection of them. A type that is but a pointer costs no memory.
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

// The bits of a selection.
const (
	flushes = 1 << iota
	hijacks
	readsFrom
	pushes
)

// selection returns which of the four interfaces w has.
func selection(w http.ResponseWriter) int {
	s := 0
	if _, ok := w.(http.Flusher); ok {
		s |= flushes
	}
	if _, ok := w.(http.Hijacker); ok {
		s |= hijacks
	}
	if _, ok := w.(io.ReaderFrom); ok {
		s |= readsFrom
	}
	if _, ok := w.(http.Pusher); ok {
		s |= pushes
	}
	return s
}

// as returns the writer with the interfaces of server, and no others.
func (w *writer) as(server http.ResponseWriter) http.ResponseWriter {
	switch selection(server) {
	case flushes:
		return withF{w}
	case hijacks:
		return withH{w}
	case flushes | hijacks:
		return withFH{w}
	case readsFrom:
		return withR{w}
	case flushes | readsFrom:
		return withFR{w}
	case hijacks | readsFrom:
		return withHR{w}
	case flushes | hijacks | readsFrom:
		return withFHR{w}
	case pushes:
		return withP{w}
	case flushes | pushes:
		return withFP{w}
	case hijacks | pushes:
		return withHP{w}
	case flushes | hijacks | pushes:
		return withFHP{w}
	case readsFrom | pushes:
		return withRP{w}
	case flushes | readsFrom | pushes:
		return withFRP{w}
	case hijacks | readsFrom | pushes:
		return withHRP{w}
	case flushes | hijacks | readsFrom | pushes:
		return withFHRP{w}
	}
	return w
}

// Flush is for handlers that know no errors.
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
