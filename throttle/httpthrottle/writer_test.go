package httpthrottle_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/deixis/faults"

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
	file, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
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
		{"after the header", strings.NewReader("text"), 404, true, "accepted/missing"},
	} {
		th := newThrottle(t, throttle.Config{})
		server := &copies{plain: plain{httptest.NewRecorder()}, begin: func() {
			equal(t, c.name+": when the server copies", books(th), "1 medium "+c.want+", 1 medium in flight")
		}}
		serveOn(t, server, th, func(w http.ResponseWriter, _ *http.Request) {
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			_, err := w.(io.ReaderFrom).ReadFrom(c.src)
			equal(t, c.name+": error", err != nil, c.name == "error")
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

func TestWriter_Tell(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	after := func(err error, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { callTell(w, err); w.WriteHeader(status) }
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
		status  int
	}{
		"429 of a bucket":   {after(refusal{}, 429), "ignored/shed", 429},
		"429 to one caller": {after(nil, 429), "accepted/none", 429},
		"200 from a cache, for want of a backend": {func(w http.ResponseWriter, _ *http.Request) {
			callTell(w, faults.Unavailable(0))
			_, _ = io.WriteString(w, "stale")
		}, "rejected/availability", 200},
		"a status that is left to the server": {func(w http.ResponseWriter, _ *http.Request) { callTell(w, faults.NotFound) }, "accepted/missing", 200},
		"the first of two errors": {func(w http.ResponseWriter, r *http.Request) {
			callTell(w, refusal{})
			after(faults.Unavailable(0), 503)(w, r)
		}, "ignored/shed", 503},
		"after the header": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			callTell(w, refusal{})
		}, "rejected/quota", 429},
		"after 1xx": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			after(refusal{}, 429)(w, r)
		}, "ignored/shed", 103}, // as the recorder has it
		"a client that has gone away": {func(w http.ResponseWriter, _ *http.Request) {
			cancel()
			callTell(w, faults.Unavailable(0))
		}, "ignored/canceled", 200},
		"before a copy": {func(w http.ResponseWriter, _ *http.Request) {
			callTell(w, refusal{})
			_, _ = io.Copy(w, io.LimitReader(endless{}, 10))
		}, "ignored/shed", 200},
		"before WriteError": {func(w http.ResponseWriter, r *http.Request) {
			callTell(w, refusal{})
			equal(t, "WriteError writes", httpthrottle.WriteError(w, r, faults.Unavailable(0)), true)
		}, "ignored/shed", 503},
		"through wrappers": {func(w http.ResponseWriter, r *http.Request) { after(refusal{}, 429)(wrapped{wrapped{w}}, r) }, "ignored/shed", 429},
		"behind a wrapper without Unwrap": {func(w http.ResponseWriter, _ *http.Request) {
			equal(t, "has Tell", callTell(struct{ http.ResponseWriter }{w}, refusal{}), false)
			w.WriteHeader(http.StatusTooManyRequests)
		}, "rejected/quota", 429},
	} {
		t.Run(name, func(t *testing.T) {
			th, request := newThrottle(t, throttle.Config{}), incoming(t.Context())
			if name == "a client that has gone away" {
				request = incoming(ctx)
			}
			w := served(th, httpthrottle.MiddlewareConfig{}, request, c.handler)
			equal(t, "books", books(th), "1 medium "+c.want)
			equal(t, "status", w.Code, c.status)
		})
	}
}

// An error given to Tell, or a shed of an inner middleware, is not a lack of capacity for the outer
// middleware. A status is.
func TestWriter_TellTheOuterMiddleware(t *testing.T) {
	for name, c := range map[string]struct {
		inner        *throttle.Throttle
		handler      http.HandlerFunc
		outer, means string // empty: does not matter
	}{
		"Tell": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) {
			callTell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 medium ignored/shed", "1 medium ignored/shed"},
		"WriteError": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, r *http.Request) {
			httpthrottle.WriteError(w, r, throttle.ErrShed)
		}, "1 medium ignored/shed", "1 medium ignored/shed"},
		"503": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "1 medium rejected/availability", "1 medium rejected/availability"},
		"shed":      {shedding(t, throttle.Config{}), never(t), "1 medium ignored/shed", ""},
		"a mistake": {&throttle.Throttle{}, never(t), "1 medium accepted/other", ""},
	} {
		outer := newThrottle(t, throttle.Config{Name: "outer"})
		inner := httpthrottle.Middleware(c.inner, httpthrottle.MiddlewareConfig{})(c.handler)
		served(outer, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(wrapped{w}, r)
		})
		equal(t, name+": outer", books(outer), c.outer)
		if c.means != "" {
			equal(t, name+": inner", books(c.inner), c.means)
		}
	}
}
