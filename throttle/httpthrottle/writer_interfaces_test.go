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
