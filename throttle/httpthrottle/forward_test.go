package httpthrottle_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

func TestForward_SameAsDirect(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		backend := serve(t, scenery(), http2)
		transport := backend.client.Transport.(*http.Transport).Clone()
		transport.DisableCompression = true
		t.Cleanup(transport.CloseIdleConnections)
		edge := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r2, _ := http.NewRequestWithContext(r.Context(), r.Method, backend.url+r.URL.String(), http.NoBody)
			res := throttle.Must(transport.RoundTrip(r2))
			defer res.Body.Close()
			if err := httpthrottle.Forward(w, res); err != nil {
				panic(http.ErrAbortHandler)
			}
		}), http2)
		for _, path := range []string{"/size?n=0", "/size?n=100", "/size?n=100000&flush=1", "/status/204", "/status/304", "/status/503", "/trailer", "/gzip"} {
			compare(t, fmt.Sprintf("HTTP2=%v %s", http2, path), backend, edge, do("GET", path, nil))
		}
	}
}

// Fields of one connection are not forwarded. Fields that the handler has set stay.
func TestForward_Header(t *testing.T) {
	res, _ := answers(200, "")(get(t.Context())) //nolint:bodyclose // there is none
	res.Header = http.Header{
		"A": {"1", "2"}, "Vary": {"Accept"}, "Connection": {"close, x-hop", "Y-Hop"}, "X-Hop": {"1"}, "Y-Hop": {"1"}, "Keep-Alive": {"1"},
		"Proxy-Authenticate": {"1"}, "Te": {"1"}, "Trailer": {"B"}, "Transfer-Encoding": {"chunked"}, "Upgrade": {"h2c"}, "Proxy-Connection": {"1"},
	}
	w := httptest.NewRecorder()
	w.Header().Set("Vary", "Origin")
	equal(t, "error", httpthrottle.Forward(w, res), nil)
	equal(t, "header", fmt.Sprint(w.Header()), "map[A:[1 2] Vary:[Origin Accept]]")
	equal(t, "header of the response", len(res.Header), 12)
}

// The header of a stream is sent before its first part, and a part when it arrives.
func TestForward_Streams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		res := &http.Response{StatusCode: 200, Header: http.Header{}, Body: in, ContentLength: -1}
		w := httptest.NewRecorder()
		done := make(chan error)
		go func() { done <- httpthrottle.Forward(w, res) }()
		synctest.Wait()
		equal(t, "header flushed", w.Flushed, true)
		w.Flushed = false
		_, _ = io.WriteString(out, "data: 1\n\n")
		synctest.Wait()
		equal(t, "part flushed", w.Flushed, true)
		_ = out.Close()
		equal(t, "error", <-done, nil)
	})
}

func TestForward_Errors(t *testing.T) {
	broken := &http.Response{StatusCode: 200, Body: io.NopCloser(iotest.ErrReader(errPlain))}
	for name, c := range map[string]struct {
		res  *http.Response
		want string
	}{
		"no response":         {nil, "httpthrottle: Forward: the response is nil"},
		"switching protocols": {&http.Response{StatusCode: 101}, "httpthrottle: Forward: the status is 101: want 200 to 999"},
		"no status":           {&http.Response{}, "httpthrottle: Forward: the status is 0: want 200 to 999"},
		"too high":            {&http.Response{StatusCode: 1000}, "httpthrottle: Forward: the status is 1000: want 200 to 999"},
		"body":                {broken, errPlain.Error()},
		"nothing in it":       {&http.Response{StatusCode: 200}, "<nil>"},
	} {
		w := httptest.NewRecorder()
		equal(t, name, fmt.Sprint(httpthrottle.Forward(w, c.res)), c.want)
	}
}
