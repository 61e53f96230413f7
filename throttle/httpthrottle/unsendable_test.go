package httpthrottle_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// swallow is a server that reads all of a request, and none whose header is long.
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

// What net/http finds out when it has a connection already says no more about the server than what it finds out before.
func TestRequestsThatCannotBeSent(t *testing.T) {
	short := func(r *http.Request) {
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte("abc"))), nil }
		r.Body, _ = r.GetBody()
		r.ContentLength = 10
	}
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
			server := swallow(t, c.http2)
			greet(t, server)
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
			c.change(r)
			got, err := send(t, server.Client().Transport, r)
			if err == nil && strings.HasSuffix(name, "upload too long") {
				return // the server was faster
			}
			equal(t, "books", got, "1 medium ignored/bad")
			equal(t, "fails", err != nil, true)
			got, _ = send(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("a base: %w", err) }), r)
			equal(t, "books, wrapped", got, "1 medium ignored/bad")
		})
	}
}

// greet has the client of a server know what the server accepts.
func greet(t *testing.T, server *httptest.Server) {
	t.Helper()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// A server that says what net/http says of requests is as broken as any.
func TestServersCannotPassOffTheirErrors(t *testing.T) {
	for _, text := range []string{"http2: invalid Host header", "idna: invalid label"} {
		r := get(t.Context())
		r.URL.Host = serveRaw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1000))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: "+text+"\r\n\r\n")
		})
		got, err := send(t, &http.Transport{DisableKeepAlives: true}, r)
		equal(t, text, got, "1 medium rejected/availability")
		equal(t, text+": is in the error", err != nil && strings.Contains(err.Error(), text), true)
	}
}

// Strangers whose requests cannot be forwarded must not turn a proxy against its backend, nor against itself.
func TestProxiesBlameNobodyForRequests(t *testing.T) {
	backend := swallow(t, true)
	greet(t, backend)
	u, _ := url.Parse(backend.URL)
	transport := newTransport(t, backend.Client().Transport, httpthrottle.TransportConfig{})
	own := newThrottle(t, throttle.Config{})
	proxy := httptest.NewServer(httpthrottle.Middleware(own, httpthrottle.MiddlewareConfig{})(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: transport, ErrorLog: quiet(),
	}))
	defer proxy.Close()
	requests := []string{
		"GET / HTTP/1.1\r\nHost: proxy\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n", // curl --http2
		"GET / HTTP/1.1\r\nHost: proxy\r\nA: " + strings.Repeat("a", 20_000) + "\r\n\r\n",
		"GET http:a HTTP/1.1\r\nHost: proxy\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: proxy\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n",
	}
	for _, text := range requests {
		equal(t, text[:min(len(text), 60)], speak(t, proxy.Listener.Addr().String(), text), http.StatusBadGateway)
	}
	proxy.Close()
	equal(t, "backend", books(throttleOf(t, transport, u.Host)), fmt.Sprintf("%d high ignored/bad", len(requests)))
	equal(t, "proxy", books(own), fmt.Sprintf("%d high accepted/bad", len(requests)))
}

// speak sends a request as it is, and returns the status of the response.
func speak(t *testing.T, address, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
