package httpthrottle_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// tools is a ResponseWriter that notes what was done with it. The types below give it each selection of four
// abilities: each adds one to a smaller selection.
type tools struct {
	plain
	done *[]string
}

func (t tools) flush() { *t.done = append(*t.done, "flush") }

func (t tools) hijack() (net.Conn, *bufio.ReadWriter, error) {
	*t.done = append(*t.done, "hijack")
	return nil, nil, nil
}

func (t tools) readFrom(src io.Reader) (int64, error) {
	*t.done = append(*t.done, "read from")
	return io.Copy(io.Discard, src)
}

func (t tools) push() error {
	*t.done = append(*t.done, "push")
	return errPlain
}

type (
	hasF    struct{ tools }
	hasH    struct{ tools }
	hasFH   struct{ hasF }
	hasR    struct{ tools }
	hasFR   struct{ hasF }
	hasHR   struct{ hasH }
	hasFHR  struct{ hasFH }
	hasP    struct{ tools }
	hasFP   struct{ hasF }
	hasHP   struct{ hasH }
	hasFHP  struct{ hasFH }
	hasRP   struct{ hasR }
	hasFRP  struct{ hasFR }
	hasHRP  struct{ hasHR }
	hasFHRP struct{ hasFHR }
)

func (s hasF) Flush()                                        { s.flush() }
func (s hasH) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return s.hijack() }
func (s hasFH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return s.hijack() }
func (s hasR) ReadFrom(src io.Reader) (int64, error)         { return s.readFrom(src) }
func (s hasFR) ReadFrom(src io.Reader) (int64, error)        { return s.readFrom(src) }
func (s hasHR) ReadFrom(src io.Reader) (int64, error)        { return s.readFrom(src) }
func (s hasFHR) ReadFrom(src io.Reader) (int64, error)       { return s.readFrom(src) }
func (s hasP) Push(string, *http.PushOptions) error          { return s.push() }
func (s hasFP) Push(string, *http.PushOptions) error         { return s.push() }
func (s hasHP) Push(string, *http.PushOptions) error         { return s.push() }
func (s hasFHP) Push(string, *http.PushOptions) error        { return s.push() }
func (s hasRP) Push(string, *http.PushOptions) error         { return s.push() }
func (s hasFRP) Push(string, *http.PushOptions) error        { return s.push() }
func (s hasHRP) Push(string, *http.PushOptions) error        { return s.push() }
func (s hasFHRP) Push(string, *http.PushOptions) error       { return s.push() }

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
	n := tools{p, &done}
	f, h, r := hasF{n}, hasH{n}, hasR{n}
	for _, server := range []http.ResponseWriter{
		n, f, h,
		hasFH{f},
		r,
		hasFR{f},
		hasHR{h},
		hasFHR{hasFH{f}},
		hasP{n},
		hasFP{f},
		hasHP{h},
		hasFHP{hasFH{f}},
		hasRP{r},
		hasFRP{hasFR{f}},
		hasHRP{hasHR{h}},
		hasFHRP{hasFHR{hasFH{f}}},
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
			equal(t, "recorded by then", books(th), "1 medium in flight")
			if v, ok := w.(io.ReaderFrom); ok {
				want = append(want, "read from")
				n, err := v.ReadFrom(strings.NewReader(strings.Repeat("text", 200))) // more than the first bytes
				equal(t, "read", fmt.Sprint(n, err), "800 <nil>")
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
			equal(t, "recorded", strings.Contains(books(th), "accepted"), abilities(server) != abilities(p) && len(want) > 0 && want[len(want)-1] != "push")
			equal(t, "Unwrap", w.(interface{ Unwrap() http.ResponseWriter }).Unwrap(), server)
		})).ServeHTTP(server, incoming(t.Context()))
		equal(t, "done", fmt.Sprint(done), fmt.Sprint(want))
	}
}
