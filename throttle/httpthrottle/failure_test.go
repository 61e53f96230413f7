package httpthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func send(t *testing.T, base http.RoundTripper, r *http.Request) (string, error) {
	t.Helper()
	rec := throttletest.NewRecorder()
	transport := newTransport(t, base, httpthrottle.TransportConfig{
		Key: func(*http.Request) string { return "" }, Throttle: throttle.Config{Hooks: rec.Hooks()},
	})
	response, err := transport.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	} else if recorded := rec.Finished()[0].Err; !errors.Is(recorded, err) ||
		!faults.IsUnavailable(recorded) && !strings.Contains(recorded.Error(), err.Error()) {
		t.Errorf("the throttle records %v of %v", recorded, err)
	}
	return books(throttleOf(t, transport, "")), err
}

func TestFailure_ErrorsOfTheBase(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"plain":             {errPlain, "rejected/availability"},
		"connection":        {&net.OpError{Op: "dial", Err: errPlain}, "rejected/availability"},
		"connection closed": {io.EOF, "rejected/availability"},
		"timeout":           {&net.DNSError{IsTimeout: true}, "rejected/timeout"},
		"deadline":          {context.DeadlineExceeded, "rejected/timeout"},
		"canceled":          {fmt.Errorf("gave up: %w", context.Canceled), "ignored/canceled"},
		"a fault":           {faults.ResourceExhausted(), "rejected/quota"},
		"not for us":        {faults.NotFound, "accepted/missing"},
		"marked":            {throttle.MarkRejected(errPlain), "rejected/availability"},
		"shed further down": {throttle.ErrShed, "ignored/shed"},
	} {
		got, err := send(t, fails(c.err), get(t.Context()))
		equal(t, name, got, "1 medium "+c.want)
		equal(t, name+": error", err, c.err)
	}
}

// late is a context that does not report its passed deadline yet. http.Client has a timer of its own that may be faster.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }
func (late) Err() error                  { return nil }

// The base may return any error for a request that the caller has given up.
func TestFailure_givenUp(t *testing.T) {
	closed, open := make(chan struct{}), make(chan struct{})
	close(closed)
	same := func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	for name, c := range map[string]struct {
		end     func(context.Context) (context.Context, func())
		channel chan struct{}
		want    string
	}{
		"canceled for a reason": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second/2, func() { cancel(errors.New("another reason")) })
			return ctx, func() { cancel(nil) }
		}, nil, "ignored/canceled"},
		"deadline": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second/2, errors.New("too slow"))
			return ctx, cancel
		}, nil, "rejected/timeout"},
		"channel":           {same, closed, "ignored/canceled"},
		"channel, deadline": {func(ctx context.Context) (context.Context, func()) { return late{ctx}, func() {} }, closed, "rejected/timeout"},
		"channel, open":     {same, open, "rejected/availability"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := c.end(t.Context())
			defer cancel()
			r := get(ctx)
			//lint:ignore SA1019 http.Client sets it
			r.Cancel = c.channel //nolint:staticcheck // http.Client sets it
			got, err := send(t, roundTrip(func(*http.Request) (*http.Response, error) {
				time.Sleep(time.Second - 1) // later, a cancellation counts as a rejection
				return nil, errPlain
			}), r)
			equal(t, name, got, "1 medium "+c.want)
			equal(t, name+": error", err, errPlain)
		})
	}
}

func TestFailure_MalformedRequests(t *testing.T) {
	base := dialer(func() (net.Conn, error) {
		t.Error("got a connection asked for, want the request refused")
		return nil, errPlain
	})
	for name, change := range map[string]func(*http.Request){
		"nil URL":             func(r *http.Request) { r.URL = nil },
		"nil header":          func(r *http.Request) { r.Header = nil },
		"no host":             func(r *http.Request) { r.URL.Host = "" },
		"unknown scheme":      func(r *http.Request) { r.URL.Scheme = "gopher" },
		"no scheme":           func(r *http.Request) { r.URL.Scheme = "" },
		"method":              func(r *http.Request) { r.Method = "GET ME" },
		"method, not ASCII":   func(r *http.Request) { r.Method = "GÉT" },
		"method, DEL":         func(r *http.Request) { r.Method = "A\x7f" },
		"field name":          func(r *http.Request) { r.Header["a:b"] = []string{"1"} },
		"empty field name":    func(r *http.Request) { r.Header[""] = []string{"1"} },
		"field value":         func(r *http.Request) { r.Header["A"] = []string{"1", "1\n2"} },
		"field value, DEL":    func(r *http.Request) { r.Header["A"] = []string{"1\x7f2"} },
		"trailer":             func(r *http.Request) { r.Trailer = http.Header{"A b": nil} },
		"length without body": func(r *http.Request) { r.Body, r.ContentLength = nil, 5 },
	} {
		r := get(t.Context())
		change(r)
		dial := base
		if r.Body == nil && r.ContentLength > 0 {
			dial = dialer(func() (net.Conn, error) { conn, _ := net.Pipe(); return conn, nil }) // is found out late
		}
		got, err := send(t, dial, r)
		equal(t, name, got, "1 medium ignored/bad")
		equal(t, name+": fails", err != nil, true)
	}
}

func TestFailure_WellFormedRequests(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"plain":     func(*http.Request) {},
		"no method": func(r *http.Request) { r.Method = "" },
		"token":     func(r *http.Request) { r.Method = "M-SEARCH!#$%&'*+.^_`|~09azAZ" },
		"https":     func(r *http.Request) { r.URL.Scheme = "https" },
		"header":    func(r *http.Request) { r.Header["X-1"] = []string{"", "a\tb ~\x80é"} },
		"no body":   func(r *http.Request) { r.Body = nil },
		"length":    func(r *http.Request) { r.ContentLength = 5 },
	} {
		r := get(t.Context())
		change(r)
		got, _ := send(t, fails(errPlain), r)
		equal(t, name, got, "1 medium rejected/availability")
	}
	r := get(t.Context())
	r.URL.Scheme = "unix"
	got, _ := send(t, fails(&net.OpError{Op: "dial", Err: errPlain}), r)
	equal(t, "no connection over a scheme of the base", got, "1 medium rejected/availability")
}

func dialer(dial func() (net.Conn, error)) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
}

func swallow(t *testing.T, http2 bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	server.EnableHTTP2 = http2
	server.Config.MaxHeaderBytes = 8 << 10
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// An invalid request does not count against the server, even if net/http detects it after it has connected.
func TestFailure_UnsendableRequests(t *testing.T) {
	short := func(r *http.Request) {
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte("abc"))), nil }
		r.Body, _ = r.GetBody()
		r.ContentLength = 10
	}
	servers := map[bool]*httptest.Server{false: swallow(t, false), true: swallow(t, true)}
	for name, c := range map[string]struct {
		http2  bool
		change func(*http.Request)
	}{
		"HTTP/1, body too short":     {false, short},
		"HTTP/1, upload too short":   {false, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("abc")), 10 }},
		"HTTP/1, upload too long":    {false, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("abc")), 2 }},
		"HTTP/1, query":              {false, func(r *http.Request) { r.URL.RawQuery = "a\n" }},
		"HTTP/1, host":               {false, func(r *http.Request) { r.Host = "xn--zzzzzzzzzzü" }},
		"HTTP/2, host":               {true, func(r *http.Request) { r.Host = "a b" }},
		"HTTP/2, international host": {true, func(r *http.Request) { r.Host = "xn--zzzzzzzzzzü" }},
		"HTTP/2, header too long":    {true, func(r *http.Request) { r.Header.Set("A", strings.Repeat("a", 20_000)) }},
		"HTTP/2, upload too long":    {true, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("abc")), 2 }},
		"HTTP/2, opaque":             {true, func(r *http.Request) { r.URL.Opaque = "a" }},
		"HTTP/2, upgrade":            {true, func(r *http.Request) { r.Header.Set("Upgrade", "h2c") }},
		"HTTP/2, connection":         {true, func(r *http.Request) { r.Header.Set("Connection", "a") }},
		"HTTP/2, transfer encoding":  {true, func(r *http.Request) { r.Header.Set("Transfer-Encoding", "gzip") }},
		"HTTP/2, trailer": {true, func(r *http.Request) {
			r.Body, r.ContentLength, r.Trailer = io.NopCloser(strings.NewReader("abc")), -1, http.Header{"Content-Length": nil}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := servers[c.http2]
			greet(t, server)
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
			c.change(r)
			got, err := send(t, server.Client().Transport, r)
			if err == nil && strings.HasSuffix(name, "upload too long") {
				return // the server was faster
			}
			if errors.Is(err, net.ErrClosed) {
				return // net/http has closed the connection, and lost the reason
			}
			equal(t, "books", got, "1 medium ignored/bad")
			equal(t, "fails", err != nil, true)
			got, _ = send(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("a base: %w", err) }), r)
			equal(t, "books, wrapped", got, "1 medium ignored/bad")
		})
	}
}

func greet(t *testing.T, server *httptest.Server) {
	t.Helper()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// A server cannot imitate the errors that net/http returns for invalid requests.
func TestFailure_ServersCannotImitateErrors(t *testing.T) {
	for _, text := range []string{"http2: invalid Host header", "idna: invalid label"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: "+text+"\r\n\r\n")
			_ = conn.Close()
		}))
		r := get(t.Context())
		r.URL.Host = server.Listener.Addr().String()
		got, err := send(t, &http.Transport{DisableKeepAlives: true}, r)
		equal(t, text, got, "1 medium rejected/availability")
		equal(t, text+": is in the error", err != nil && strings.Contains(err.Error(), text), true)
		server.Close()
	}
}
