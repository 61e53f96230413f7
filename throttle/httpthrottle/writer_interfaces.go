package httpthrottle

import (
	"bufio"
	"context"
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

// CloseNotify is for handlers older than the context of a request, and for gin, whose Stream panics
// without it. If the server's own writer does not have it, the channel gets a value when that context ends.
func (w *writer) CloseNotify() <-chan bool {
	if server, ok := w.ResponseWriter.(interface{ CloseNotify() <-chan bool }); ok {
		return server.CloseNotify()
	}
	gone := make(chan bool, 1)
	context.AfterFunc(w.request.Context, func() { gone <- true })
	return gone
}
