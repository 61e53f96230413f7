package httpthrottle_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// slowly is a throttle whose calls are late after 100 ms.
var slowly = throttle.Config{Slow: 100 * time.Millisecond}

// wantLate checks how many calls of a throttle were late, and how many have no answer.
func wantLate(t *testing.T, what string, th *throttle.Throttle, late uint64, open int64) {
	t.Helper()
	s := th.Stats()
	var got uint64
	for _, p := range s.Priorities {
		got += p.Slow.Late
	}
	equal(t, what+": late", got, late)
	equal(t, what+": without an answer", s.Slow.Open, open)
}

// trickle is a body whose text comes after a minute.
func trickle() io.Reader {
	text := strings.NewReader("text")
	return readerFunc(func(p []byte) (int, error) { time.Sleep(time.Minute); return text.Read(p) })
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestSlow_Transport: the header of the response is what counts, however long its body takes.
func TestSlow_Transport(t *testing.T) {
	for name, c := range map[string]struct {
		header time.Duration // until the header
		late   uint64
	}{
		"quick header": {50 * time.Millisecond, 0},
		"slow header":  {time.Second, 1},
	} {
		for _, status := range []int{200, 503, 101} {
			synctest.Test(t, func(t *testing.T) {
				base := roundTrip(func(r *http.Request) (*http.Response, error) {
					time.Sleep(c.header)
					body := io.NopCloser(trickle())
					if status == 101 {
						body = connection()
					}
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
				})
				transport := newTransport(t, base, httpthrottle.TransportConfig{Throttle: slowly})
				response := ask(t, transport, get(t.Context()))
				th := throttleOf(t, transport, host)
				wantLate(t, name+", header", th, c.late, 0)
				equal(t, name+", header: in flight", th.Stats().Priorities[throttle.Medium].InFlight, 1)
				time.Sleep(time.Minute)
				wantLate(t, name+", a minute later", th, c.late, 0)
				if status != 101 {
					_, _ = io.ReadAll(response.Body)
				}
				_ = response.Body.Close()
				wantLate(t, name+", end", th, c.late, 0)
				equal(t, name+", end: in flight", th.Stats().Priorities[throttle.Medium].InFlight, 0)
			})
		}
	}
}

// connection is the body of a response that switches protocols: it can be written.
func connection() io.ReadCloser {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	return ours
}

// TestSlow_Middleware: the header that the handler writes is what counts, or the takeover of its connection.
func TestSlow_Middleware(t *testing.T) {
	write := func(w http.ResponseWriter) { _, _ = io.WriteString(w, "data: 1\n\n") }
	for name, c := range map[string]struct {
		wait   time.Duration
		answer func(http.ResponseWriter)
		late   uint64
	}{
		"stream":              {50 * time.Millisecond, write, 0},
		"slow stream":         {time.Second, write, 1},
		"switching protocols": {50 * time.Millisecond, func(w http.ResponseWriter) { w.WriteHeader(http.StatusSwitchingProtocols) }, 0},
		"error":               {time.Second, func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle(t, slowly)
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(c.wait)
				c.answer(w)
				time.Sleep(time.Minute)
				wantLate(t, name+", a minute later", th, c.late, 0)
			})
			wantLate(t, name+", end", th, c.late, 0)
		})
	}
}
