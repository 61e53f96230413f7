package httpthrottle_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

type stubborn struct{ plain }

func (stubborn) Flush()                                       { panic("use FlushError") }
func (stubborn) FlushError() error                            { return errPlain }
func (stubborn) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errPlain }

func TestErrorsOfTheServersWriter(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	serveOn(t, stubborn{plain{httptest.NewRecorder()}}, th, func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := w.(http.Hijacker).Hijack()
		equal(t, "error of Hijack", err, errPlain)
		equal(t, "after a Hijack that failed", books(th), "1 medium in flight")
		equal(t, "error of Flush", http.NewResponseController(w).Flush(), errPlain)
		w.(http.Flusher).Flush()
	})
}

type copies struct {
	plain
	given io.Reader
	begin func() // if not nil, called first
}

func (c *copies) ReadFrom(src io.Reader) (int64, error) {
	if c.given = src; c.begin != nil {
		c.begin()
	}
	return io.Copy(c.plain, src)
}

func TestReadFrom(t *testing.T) {
	file := throttle.Must(os.Open("doc.go"))
	defer file.Close()
	for _, c := range []struct {
		name   string
		src    io.Reader
		status int
		whole  bool // given to the server, all or the rest
		want   string
	}{
		{"text", iotest.OneByteReader(strings.NewReader("text")), 0, false, "accepted/none"},
		{"part of a text", io.LimitReader(strings.NewReader("text"), 2), 0, false, "accepted/none"},
		{"part of a file", io.LimitReader(file, 2), 0, false, "accepted/none"},
		{"file", file, 0, true, "accepted/none"},
		{"file at its end", file, 0, false, ""},
		{"nothing", strings.NewReader(""), 0, false, ""},
		{"error", iotest.ErrReader(errPlain), 0, false, ""},
		{"error of an upload", iotest.ErrReader(fmt.Errorf("upload: %w", io.EOF)), 0, false, ""},
		{"after the header", strings.NewReader("text"), 404, true, "accepted/missing"},
		{"message of gRPC", strings.NewReader("text"), 200, false, "accepted/none"},
	} {
		th := newThrottle(t, throttle.Config{})
		server := &copies{plain: plain{httptest.NewRecorder()}}
		server.begin = func() {
			if server.given == c.src {
				equal(t, c.name+": when the server copies", books(th), "1 medium "+c.want+", 1 medium in flight")
			}
		}
		serveOn(t, server, th, func(w http.ResponseWriter, _ *http.Request) {
			if c.status == 200 {
				w.Header().Set("Content-Type", "application/grpc")
			}
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			_, err := w.(io.ReaderFrom).ReadFrom(c.src)
			equal(t, c.name+": error", err != nil, strings.HasPrefix(c.name, "error"))
			want := "1 medium in flight"
			if c.want != "" {
				want = "1 medium " + c.want + ", " + want
			}
			equal(t, c.name, books(th), want)
			if c.want == "" {
				w.WriteHeader(502)
			}
		})
		equal(t, c.name+": given", server.given == c.src, c.whole)
		if c.want == "" {
			equal(t, c.name+": in the end", books(th), "1 medium rejected/availability")
		}
	}
}

// A server of HTTP/1 sends the first 512 bytes of a copy at once, and the rest in chunks.
func TestReadFrom_SameAsWithout(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	start := func(h http.Handler) place {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return place{server.Client(), server.URL}
	}
	bare, throttled := start(scenery()), start(httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(scenery()))
	for _, n := range []int{511, 512, 600, 1025, 5000} {
		compare(t, fmt.Sprint(n, " bytes"), bare, throttled, do("GET", fmt.Sprint("/copy?n=", n), nil))
	}
}

// A ResponseController finds the server under whatever others have put around it, and the throttle hears of the header that it sends.
func TestFlushesThroughAWrapperAreTold(t *testing.T) {
	for name, outer := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"wrapped":         func(w http.ResponseWriter) http.ResponseWriter { return wrapped{w} },
		"wrapped twice":   func(w http.ResponseWriter) http.ResponseWriter { return wrapped{wrapped{w}} },
		"with errors":     func(http.ResponseWriter) http.ResponseWriter { return wrapped{quietly{}} },
		"with no Flusher": func(http.ResponseWriter) http.ResponseWriter { return quietly{} },
	} {
		w := httptest.NewRecorder()
		th := newThrottle(t, throttle.Config{})
		server := outer(w)
		serveOn(t, server, th, func(w http.ResponseWriter, r *http.Request) {
			equal(t, name+": abilities", abilities(w), abilities(server))
			equal(t, name+": error", http.NewResponseController(w).Flush(), nil)
			equal(t, name+": recorded", books(th), "1 medium accepted/none, 1 medium in flight")
			equal(t, name+": WriteError", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
			w.WriteHeader(http.StatusServiceUnavailable) // too late
		})
		equal(t, name+": body", w.Body.String(), "")
		equal(t, name+": in the end", books(th), "1 medium accepted/none")
	}
}

// quietly can flush, but only as a ResponseController asks for it.
type quietly struct{ nowhereAtAll }

func (quietly) FlushError() error { return nil }

type nowhereAtAll struct{}

func (nowhereAtAll) Header() http.Header         { return http.Header{} }
func (nowhereAtAll) Write(p []byte) (int, error) { return len(p), nil }
func (nowhereAtAll) WriteHeader(int)             {}

// A flush that no writer supports sends no header, also in nested middlewares.
func TestWriter_UnsupportedFlush(t *testing.T) {
	outer, inner := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
	handler := httpthrottle.Middleware(inner, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		equal(t, "not supported", errors.Is(http.NewResponseController(w).Flush(), http.ErrNotSupported), true)
		equal(t, "not recorded", books(inner)+books(outer), "1 medium in flight1 medium in flight")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	httpthrottle.Middleware(outer, httpthrottle.MiddlewareConfig{})(handler).ServeHTTP(plain{nowhereAtAll{}}, incoming(t.Context()))
	equal(t, "inner", books(inner), "1 medium rejected/availability")
	equal(t, "outer", books(outer), "1 medium rejected/availability")
}

// tools is a ResponseWriter that notes what was done with it. The types below give it more abilities.
type tools struct {
	plain
	done *[]string
}

type (
	flushes  struct{ tools }
	hijacks  struct{ tools }
	flushesH struct{ flushes }
	does     struct{ flushesH } // all of them
)

func (t tools) hijack() (net.Conn, *bufio.ReadWriter, error) {
	*t.done = append(*t.done, "hijack")
	return nil, nil, nil
}

func (t flushes) Flush()                                        { *t.done = append(*t.done, "flush") }
func (t hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return t.hijack() }
func (t flushesH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return t.hijack() }
func (t does) Push(string, *http.PushOptions) error             { return errPlain }

func (t does) ReadFrom(src io.Reader) (int64, error) {
	*t.done = append(*t.done, "read from")
	return io.Copy(io.Discard, src)
}

func abilities(w http.ResponseWriter) string {
	_, f := w.(http.Flusher)
	_, h := w.(http.Hijacker)
	return fmt.Sprintf("flushes %v, hijacks %v", f, h)
}

// The two interfaces that a handler looks for are kept exactly. All four do what the server's own do.
func TestInterfacesAreKept(t *testing.T) {
	var done []string
	n := tools{plain{httptest.NewRecorder()}, &done}
	fh := flushesH{flushes{n}}
	for server, want := range map[http.ResponseWriter]string{
		n: "[]", flushes{n}: "[flush flush]", hijacks{n}: "[hijack]", fh: "[flush flush hijack]", does{fh}: "[read from read from flush flush hijack]",
	} {
		th := newThrottle(t, throttle.Config{})
		done = nil
		serveOn(t, server, th, func(w http.ResponseWriter, _ *http.Request) {
			equal(t, "abilities", abilities(w), abilities(server))
			_, pushes := server.(http.Pusher)
			err := w.(http.Pusher).Push("/", nil)
			equal(t, "error of Push", err == errPlain, pushes)
			equal(t, "Push is not supported", errors.Is(err, http.ErrNotSupported), !pushes)
			equal(t, "recorded by then", books(th), "1 medium in flight")
			n, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader(strings.Repeat("text", 200))) // more than the first bytes
			equal(t, "read", fmt.Sprint(n, err), "800 <nil>")
			equal(t, "recorded", books(th), "1 medium accepted/none, 1 medium in flight")
			if v, ok := w.(http.Flusher); ok {
				v.Flush()
				equal(t, "error of FlushError", w.(interface{ FlushError() error }).FlushError(), nil)
			}
			if v, ok := w.(http.Hijacker); ok {
				_, _, err := v.Hijack()
				equal(t, "error of Hijack", err, nil)
			}
			equal(t, "Unwrap", w.(interface{ Unwrap() http.ResponseWriter }).Unwrap(), server)
		})
		equal(t, "done", fmt.Sprint(done), want)
	}
}

type closing struct {
	plain
	gone chan bool
}

func (c closing) CloseNotify() <-chan bool { return c.gone }

// Old handlers, and gin, ask the writer whether the client is still there.
func TestCloseNotify(t *testing.T) {
	server := closing{plain{httptest.NewRecorder()}, make(chan bool, 1)}
	for _, w := range []http.ResponseWriter{server, server.plain} {
		ctx, cancel := context.WithCancel(t.Context())
		httpthrottle.Middleware(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			gone := w.(interface{ CloseNotify() <-chan bool }).CloseNotify()
			equal(t, "gone too early", len(gone), 0)
			server.gone <- true
			cancel()
			equal(t, "gone", <-gone, true)
		})).ServeHTTP(w, incoming(ctx))
	}
}

func TestHijackRecords(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	serveOn(t, hijacks{tools{plain{httptest.NewRecorder()}, new([]string)}}, th, func(w http.ResponseWriter, _ *http.Request) {
		_, _, _ = w.(http.Hijacker).Hijack()
		equal(t, "books", books(th), "1 medium accepted/none, 1 medium in flight")
	})
}
