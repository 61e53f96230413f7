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

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// stubborn cannot do what it is asked to.
type stubborn struct{ plain }

func (stubborn) Flush()                                       { panic("use FlushError") }
func (stubborn) FlushError() error                            { return errPlain }
func (stubborn) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errPlain }

func TestErrorsOfTheServersWriter(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := w.(http.Hijacker).Hijack()
		equal(t, "error of Hijack", err, errPlain)
		equal(t, "after a Hijack that failed", books(th), "1 high in flight")
		equal(t, "error of Flush", http.NewResponseController(w).Flush(), errPlain)
		w.(http.Flusher).Flush()
	})).ServeHTTP(stubborn{plain{httptest.NewRecorder()}}, incoming(t.Context()))
}

// copies says what a ReaderFrom was given.
type copies struct {
	plain
	given io.Reader
}

func (c *copies) ReadFrom(src io.Reader) (int64, error) {
	c.given = src
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
		whole  bool // shown to the server as it is
		want   string
	}{
		{"text", iotest.OneByteReader(strings.NewReader("text")), 0, false, "accepted/none"},
		{"part of a text", io.LimitReader(strings.NewReader("text"), 2), 0, false, "accepted/none"},
		{"part of a file", io.LimitReader(file, 2), 0, true, "accepted/none"},
		{"file", file, 0, true, "accepted/none"},
		{"file at its end", file, 0, true, ""},
		{"nothing", strings.NewReader(""), 0, false, ""},
		{"error", iotest.ErrReader(errPlain), 0, false, ""},
		{"after the header", strings.NewReader("text"), 404, true, "accepted/missing"},
	} {
		th := newThrottle(t, throttle.Config{})
		server := &copies{plain: plain{httptest.NewRecorder()}}
		httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			_, err := w.(io.ReaderFrom).ReadFrom(c.src)
			equal(t, c.name+": error", err != nil, c.name == "error")
			want := "1 high in flight"
			if c.want != "" {
				want = "1 high " + c.want + ", " + want
			}
			equal(t, c.name, books(th), want)
			if c.want == "" {
				w.WriteHeader(502)
			}
		})).ServeHTTP(server, incoming(t.Context()))
		equal(t, c.name+": shown as it is", server.given == c.src, c.whole)
		if c.want == "" {
			equal(t, c.name+": in the end", books(th), "1 high rejected/availability")
		}
	}
}

// The throttle knows with the first bytes of a copy, not when it is over.
func TestReadFromTellsAtOnce(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	in, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, in)
		})).ServeHTTP(&copies{plain: plain{httptest.NewRecorder()}}, incoming(t.Context()))
	}()
	_, _ = io.WriteString(out, "1")
	_, _ = io.WriteString(out, "2") // is read when the first was written
	equal(t, "in the middle", books(th), "1 high accepted/none, 1 high in flight")
	_ = out.Close()
	<-done
	equal(t, "in the end", books(th), "1 high accepted/none")
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
		httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			equal(t, name+": abilities", abilities(w), abilities(server))
			equal(t, name+": error", http.NewResponseController(w).Flush(), nil)
			equal(t, name+": told", books(th), "1 high accepted/none, 1 high in flight")
			equal(t, name+": WriteError", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
			w.WriteHeader(http.StatusServiceUnavailable) // too late
		})).ServeHTTP(server, incoming(t.Context()))
		equal(t, name+": body", w.Body.String(), "")
		equal(t, name+": in the end", books(th), "1 high accepted/none")
	}
}

// quietly can flush, but only as a ResponseController asks for it.
type quietly struct{ nowhereAtAll }

func (quietly) FlushError() error { return nil }

type nowhereAtAll struct{}

func (nowhereAtAll) Header() http.Header         { return http.Header{} }
func (nowhereAtAll) Write(p []byte) (int, error) { return len(p), nil }
func (nowhereAtAll) WriteHeader(int)             {}

// A flush that nobody can do sends no header, in a middleware within another one too.
func TestFlushesThatNobodyCanDo(t *testing.T) {
	outer, inner := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
	handler := httpthrottle.Middleware(inner, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		equal(t, "not supported", errors.Is(http.NewResponseController(w).Flush(), http.ErrNotSupported), true)
		equal(t, "not told", books(inner)+books(outer), "1 high in flight1 high in flight")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	httpthrottle.Middleware(outer, httpthrottle.MiddlewareConfig{})(handler).ServeHTTP(plain{nowhereAtAll{}}, incoming(t.Context()))
	equal(t, "inner", books(inner), "1 high rejected/availability")
	equal(t, "outer", books(outer), "1 high rejected/availability")
}

func TestHandlersTellWhatTheirAnswerMeans(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx     context.Context
		handler http.HandlerFunc
		want    string
		status  int
	}{
		"429 of a bucket": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", 429},
		"429 to one caller": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, nil)
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high accepted/none", 429},
		"200 from a cache, for want of a backend": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, faults.Unavailable(0))
			_, _ = io.WriteString(w, "stale")
		}, "1 high rejected/availability", 200},
		"a status that is left to the server": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, faults.NotFound)
		}, "1 high accepted/missing", 200},
		"the first is believed": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			tell(w, faults.Unavailable(0))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "1 high ignored/shed", 503},
		"after the header it is too late": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			tell(w, refusal{})
		}, "1 high rejected/quota", 429},
		"after 1xx it is not": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			tell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", 103}, // as the recorder has it
		"a client that has gone away": {ctx, func(w http.ResponseWriter, _ *http.Request) {
			cancel()
			tell(w, faults.Unavailable(0))
		}, "1 high ignored/canceled", 200},
		"a copy": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			_, _ = io.Copy(w, io.LimitReader(neverEnding('x'), 10))
		}, "1 high ignored/shed", 200},
		"what WriteError says later": {t.Context(), func(w http.ResponseWriter, r *http.Request) {
			tell(w, refusal{})
			equal(t, "WriteError writes", httpthrottle.WriteError(w, r, faults.Unavailable(0)), true)
		}, "1 high ignored/shed", 503},
		"wrapped by others": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			tell(wrapped{wrapped{w}}, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", 429},
		"wrapped by somebody who hides it": {t.Context(), func(w http.ResponseWriter, _ *http.Request) {
			equal(t, "is told", tell(struct{ http.ResponseWriter }{w}, refusal{}), false)
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high rejected/quota", 429},
	} {
		t.Run(name, func(t *testing.T) {
			th := newThrottle(t, throttle.Config{})
			w := served(th, httpthrottle.MiddlewareConfig{}, incoming(c.ctx), c.handler)
			equal(t, "books", books(th), c.want)
			equal(t, "status", w.Code, c.status)
		})
	}
}

// neverEnding is a body without an end.
type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestTheUsersClassifierIsAsked about what a handler tells, too.
func TestTheUsersClassifierIsAsked(t *testing.T) {
	th := newThrottle(t, throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return errors.Is(err, errPlain) })})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) { tell(w, errPlain) })
	equal(t, "books", books(th), "1 high rejected/other")
}

// TestAGreedyCallerCostsNobodyElse: a limiter within the middleware answers 429 to one caller of many, and the others are served.
func TestAGreedyCallerCostsNobodyElse(t *testing.T) {
	limit := func(told bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Caller") != "greedy" {
				return
			}
			if told {
				tell(w, refusal{})
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	for told, want := range map[bool]int{true: 40, false: 0} {
		th := newThrottle(t, throttle.Config{Rand: unlucky}) // sheds whatever may be shed
		request := func(caller string) int {
			r := incoming(t.Context())
			r.Header.Set("Caller", caller)
			return served(th, httpthrottle.MiddlewareConfig{}, r, limit(told)).Code
		}
		for range 1000 {
			request("greedy")
		}
		ok := 0
		for caller := range 40 {
			if request(fmt.Sprint(caller)) == http.StatusOK {
				ok++
			}
		}
		equal(t, fmt.Sprintf("callers served if the throttle is told %v", told), ok, want)
	}
}

// TestMiddlewaresInEachOther: what a handler tells, and what the inner one sheds, is no lack of capacity for the outer one. A status is.
func TestMiddlewaresInEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		inner        *throttle.Throttle
		handler      http.HandlerFunc
		outer, means string // empty: does not matter
	}{
		"told": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) {
			tell(w, refusal{})
			w.WriteHeader(http.StatusTooManyRequests)
		}, "1 high ignored/shed", "1 high ignored/shed"},
		"WriteError": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, r *http.Request) {
			httpthrottle.WriteError(w, r, throttle.ErrShed)
		}, "1 high ignored/shed", "1 high ignored/shed"},
		"503": {newThrottle(t, throttle.Config{}), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "1 high rejected/availability", "1 high rejected/availability"},
		"shed":      {shedding(t, throttle.Config{}), never(t), "1 high ignored/shed", ""},
		"a mistake": {&throttle.Throttle{}, never(t), "1 high accepted/other", ""},
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
