package httpthrottle

import (
	"bufio"
	"net"
	"net/http"
)

// Handlers detect by its interfaces whether a ResponseWriter can flush and hijack, so ours has these
// two exactly if the server's own has them. Each type is one pointer, so converting it to an interface
// does not allocate.
type (
	withF  struct{ *writer }
	withH  struct{ *writer }
	withFH struct{ withF }
)

func (w *writer) as(server http.ResponseWriter) http.ResponseWriter {
	_, flushes := server.(http.Flusher)
	_, hijacks := server.(http.Hijacker)
	switch {
	case flushes && hijacks:
		return withFH{withF{w}}
	case flushes:
		return withF{w}
	case hijacks:
		return withH{w}
	}
	return w
}

// Flush implements http.Flusher, which has no error.
func (w withF) Flush() { _ = w.FlushError() }

func (w withH) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withFH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }
