package httpthrottle_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

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
		n: "[]", flushes{n}: "[flush flush]", hijacks{n}: "[hijack]", fh: "[flush flush hijack]", does{fh}: "[read from flush flush hijack]",
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

func TestHijackRecords(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	serveOn(t, hijacks{tools{plain{httptest.NewRecorder()}, new([]string)}}, th, func(w http.ResponseWriter, _ *http.Request) {
		_, _, _ = w.(http.Hijacker).Hijack()
		equal(t, "books", books(th), "1 medium accepted/none, 1 medium in flight")
	})
}
