package httpthrottle_test

import (
	"bufio"
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

// plain is a ResponseWriter that can nothing else.
type plain struct{ http.ResponseWriter }

// The abilities that a ResponseWriter may have besides, each of which notes that it was used.
type (
	flusher    struct{ done *[]string }
	hijacker   struct{ done *[]string }
	readerFrom struct{ done *[]string }
	pusher     struct{ done *[]string }
)

func (f flusher) Flush() { *f.done = append(*f.done, "flush") }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	*h.done = append(*h.done, "hijack")
	return nil, nil, nil
}

func (r readerFrom) ReadFrom(src io.Reader) (int64, error) {
	*r.done = append(*r.done, "read from")
	return io.Copy(io.Discard, src)
}

func (p pusher) Push(string, *http.PushOptions) error {
	*p.done = append(*p.done, "push")
	return errPlain
}

// abilities names the interfaces that a ResponseWriter has.
func abilities(w http.ResponseWriter) string {
	_, f := w.(http.Flusher)
	_, h := w.(http.Hijacker)
	_, r := w.(io.ReaderFrom)
	_, p := w.(http.Pusher)
	return fmt.Sprintf("flushes %v, hijacks %v, reads from %v, pushes %v", f, h, r, p)
}

// Each selection of the four interfaces is kept exactly, and each still does what it did.
func TestInterfacesAreKept(t *testing.T) {
	var done []string
	p := plain{httptest.NewRecorder()}
	for _, server := range []http.ResponseWriter{
		struct{ plain }{plain: p},
		struct {
			plain
			flusher
		}{plain: p, flusher: flusher{&done}},
		struct {
			plain
			hijacker
		}{plain: p, hijacker: hijacker{&done}},
		struct {
			plain
			flusher
			hijacker
		}{plain: p, flusher: flusher{&done}, hijacker: hijacker{&done}},
		struct {
			plain
			readerFrom
		}{plain: p, readerFrom: readerFrom{&done}},
		struct {
			plain
			flusher
			readerFrom
		}{plain: p, flusher: flusher{&done}, readerFrom: readerFrom{&done}},
		struct {
			plain
			hijacker
			readerFrom
		}{plain: p, hijacker: hijacker{&done}, readerFrom: readerFrom{&done}},
		struct {
			plain
			flusher
			hijacker
			readerFrom
		}{plain: p, flusher: flusher{&done}, hijacker: hijacker{&done}, readerFrom: readerFrom{&done}},
		struct {
			plain
			pusher
		}{plain: p, pusher: pusher{&done}},
		struct {
			plain
			flusher
			pusher
		}{plain: p, flusher: flusher{&done}, pusher: pusher{&done}},
		struct {
			plain
			hijacker
			pusher
		}{plain: p, hijacker: hijacker{&done}, pusher: pusher{&done}},
		struct {
			plain
			flusher
			hijacker
			pusher
		}{plain: p, flusher: flusher{&done}, hijacker: hijacker{&done}, pusher: pusher{&done}},
		struct {
			plain
			readerFrom
			pusher
		}{plain: p, readerFrom: readerFrom{&done}, pusher: pusher{&done}},
		struct {
			plain
			flusher
			readerFrom
			pusher
		}{plain: p, flusher: flusher{&done}, readerFrom: readerFrom{&done}, pusher: pusher{&done}},
		struct {
			plain
			hijacker
			readerFrom
			pusher
		}{plain: p, hijacker: hijacker{&done}, readerFrom: readerFrom{&done}, pusher: pusher{&done}},
		struct {
			plain
			flusher
			hijacker
			readerFrom
			pusher
		}{plain: p, flusher: flusher{&done}, hijacker: hijacker{&done}, readerFrom: readerFrom{&done}, pusher: pusher{&done}},
	} {
		th := newThrottle(t, throttle.Config{})
		done = nil
		var want []string
		httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			equal(t, "abilities", abilities(w), abilities(server))
			if v, ok := w.(http.Pusher); ok {
				want = append(want, "push")
				equal(t, "error of Push", v.Push("/", nil), errPlain)
			}
			equal(t, "told by then", books(th), "1 high in flight")
			if v, ok := w.(io.ReaderFrom); ok {
				want = append(want, "read from")
				n, err := v.ReadFrom(strings.NewReader("text"))
				equal(t, "read", fmt.Sprint(n, err), "4 <nil>")
			}
			if v, ok := w.(http.Flusher); ok {
				want = append(want, "flush", "flush")
				v.Flush()
				equal(t, "error of FlushError", w.(interface{ FlushError() error }).FlushError(), nil)
			}
			if v, ok := w.(http.Hijacker); ok {
				want = append(want, "hijack")
				_, _, err := v.Hijack()
				equal(t, "error of Hijack", err, nil)
			}
			equal(t, "told", strings.Contains(books(th), "accepted"), abilities(server) != abilities(p) && len(want) > 0 && want[len(want)-1] != "push")
			equal(t, "Unwrap", w.(interface{ Unwrap() http.ResponseWriter }).Unwrap(), server)
		})).ServeHTTP(server, incoming(t.Context()))
		equal(t, "done", fmt.Sprint(done), fmt.Sprint(want))
	}
}

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

// A handler that was given a writer of its own kind by others can still be found.
func TestWriteErrorFindsTheMiddleware(t *testing.T) {
	for name, wrap := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"itself":  func(w http.ResponseWriter) http.ResponseWriter { return w },
		"wrapped": func(w http.ResponseWriter) http.ResponseWriter { return wrapped{wrapped{w}} },
	} {
		for _, server := range []http.ResponseWriter{httptest.NewRecorder(), plain{httptest.NewRecorder()}} {
			th := newThrottle(t, throttle.Config{})
			httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				equal(t, "WriteError", httpthrottle.WriteError(wrap(w), r, fmt.Errorf("calling a friend: %w", throttle.ErrShed)), true)
				equal(t, name, books(th), "1 high ignored/shed, 1 high in flight")
			})).ServeHTTP(server, incoming(t.Context()))
		}
	}
}

type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestWriteErrorAfterTheHeader(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	w := served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "text")
		equal(t, "ours", httpthrottle.WriteError(w, r, throttle.ErrShed), true)
		equal(t, "not ours", httpthrottle.WriteError(w, r, errors.New("text")), false)
	})
	equal(t, "body", w.Body.String(), "text")
	equal(t, "books", books(th), "1 high accepted/none")
}
