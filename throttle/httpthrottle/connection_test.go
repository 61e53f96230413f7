package httpthrottle_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// dialer is a base that gets no further than to what dial says.
func dialer(dial func() (net.Conn, error)) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
}

func TestConnectionRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	r := get(t.Context())
	r.URL.Host = listener.Addr().String()
	got, err := send(t, &http.Transport{}, r)
	equal(t, "books", got, "1 medium rejected/availability")
	var op *net.OpError
	equal(t, "error is the base's", errors.As(err, &op), true)
}

// serveRaw runs a server that does with each connection as f says.
func serveRaw(t *testing.T, f func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return listener.Addr().String()
}

func TestBrokenConnections(t *testing.T) {
	for name, f := range map[string]func(net.Conn){
		"closed": func(net.Conn) {},
		"reset": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
		},
		"nonsense": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1000))
			_, _ = io.WriteString(c, "nonsense\r\n\r\n")
		},
		"closed in the header": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1000))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConte")
		},
		"header bomb": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1000))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("a", 2<<20))
		},
	} {
		base := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 1 << 20}
		r := get(t.Context())
		r.URL.Host = serveRaw(t, f)
		got, err := send(t, base, r)
		equal(t, name, got, "1 medium rejected/availability")
		equal(t, name+": fails", err != nil, true)
	}
}

// A server that hangs is noticed when the caller stops waiting, by whatever means.
func TestServersThatHang(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	u, _ := url.Parse(server.URL)
	r := get(t.Context())
	r.URL = u
	got, err := send(t, &http.Transport{ResponseHeaderTimeout: time.Millisecond}, r)
	equal(t, "books", got, "1 medium rejected/timeout")
	equal(t, "fails", err != nil, true)

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	got, err = send(t, &http.Transport{}, r.WithContext(ctx))
	equal(t, "books", got == "1 medium rejected/timeout" || got == "", true) // over before it began, on a slow machine
	equal(t, "error", errors.Is(err, context.DeadlineExceeded), true)
}

// An upload that breaks off is the caller's fault, whether the server has read of it or not.
func TestUploadsThatFail(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	for name, body := range map[string]io.Reader{
		"at once": iotest.ErrReader(errPlain),
		"later":   io.MultiReader(strings.NewReader(strings.Repeat("a", 100_000)), iotest.ErrReader(errPlain)),
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
		got, err := send(t, &http.Transport{DisableKeepAlives: true}, r)
		if err == nil { // the server was faster
			continue
		}
		equal(t, name, got, "1 medium ignored/bad")
		equal(t, name+": error", errors.Is(err, errPlain), true)
	}
	closing := errors.New("closed by the base")
	r := request(t.Context(), http.MethodPost, &closedBody{err: closing})
	got, _ := send(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		_ = r.Body.Close()
		_, err := r.Body.Read(nil)
		return nil, err
	}), r)
	equal(t, "an error after Close", got, "1 medium rejected/availability")
	r = request(t.Context(), http.MethodPost, io.LimitReader(strings.NewReader("text"), 2))
	got, _ = send(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadAll(r.Body)
		return nil, errPlain
	}), r)
	equal(t, "an upload that ended well", got, "1 medium rejected/availability")
}

// closedBody fails once it was closed.
type closedBody struct{ err error }

func (b *closedBody) Read([]byte) (int, error) { return 0, b.err }
func (b *closedBody) Close() error             { return nil }
