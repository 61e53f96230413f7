package httpthrottle_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// arena is a server and the two clients that are to be told apart.
type arena struct {
	server    *httptest.Server
	bare      *http.Client
	throttled *http.Client
	transport *httpthrottle.Transport
	witness   *witness
}

func newArena(t testing.TB, http2 bool, change func(*http.Transport)) *arena {
	t.Helper()
	a := &arena{server: httptest.NewUnstartedServer(scenery()), witness: &witness{}}
	a.server.Config.ErrorLog = quiet()
	a.server.EnableHTTP2 = http2
	a.server.StartTLS()
	t.Cleanup(a.server.Close)
	client := func() *http.Transport {
		base := a.server.Client().Transport.(*http.Transport).Clone()
		if change != nil {
			change(base)
		}
		t.Cleanup(base.CloseIdleConnections)
		return base
	}
	a.transport = newTransport(t, client(), httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: lucky, Hooks: a.witness.hooks()}})
	a.bare, a.throttled = &http.Client{Transport: roundTrip(client().RoundTrip)}, &http.Client{Transport: a.transport}
	return a
}

// compare runs a scenario with both clients.
func (a *arena) compare(t *testing.T, run func(tr *transcript, client *http.Client, server string)) {
	t.Helper()
	var want, got transcript
	run(&want, a.bare, a.server.URL)
	run(&got, a.throttled, a.server.URL)
	if got.String() != want.String() {
		t.Errorf("with the transport:\n%swithout:\n%s", got.String(), want.String())
	}
	equal(t, "in flight afterwards", strings.Contains(books(throttleOf(t, a.transport, a.server.Listener.Addr().String())), "in flight"), false)
}

func TestSameAsWithout(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		a := newArena(t, http2, nil)
		for name, run := range scenarios(t) {
			t.Run(fmt.Sprintf("HTTP2=%v/%s", http2, name), func(t *testing.T) { a.compare(t, run) })
		}
		t.Run(fmt.Sprintf("HTTP2=%v/canceled before", http2), func(t *testing.T) { a.compare(t, canceledBefore) })
		t.Run(fmt.Sprintf("HTTP2=%v/canceled while headers", http2), func(t *testing.T) { a.compare(t, canceledWhileHeaders) })
		t.Run(fmt.Sprintf("HTTP2=%v/canceled while body", http2), func(t *testing.T) { a.compare(t, canceledWhileBody) })
		t.Run(fmt.Sprintf("HTTP2=%v/closed early", http2), func(t *testing.T) { a.compare(t, closedEarly) })
		t.Run(fmt.Sprintf("HTTP2=%v/503 forever", http2), func(t *testing.T) { a.compare(t, forever503) })
		t.Run(fmt.Sprintf("HTTP2=%v/side by side", http2), func(t *testing.T) { a.compare(t, sideBySide) })
		equal(t, "started calls finished", count(a.witness, "started"), count(a.witness, "finished"))
	}
}

func count(w *witness, moment string) int {
	n := 0
	for _, m := range w.moments {
		if m == moment {
			n++
		}
	}
	return n
}

// A connection that changes hands: both directions work, and so does closing one of them, as far as it goes.
func TestSameAsWithoutOnUpgrade(t *testing.T) {
	a := newArena(t, false, nil)
	a.compare(t, func(tr *transcript, client *http.Client, server string) {
		r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server+"/upgrade", http.NoBody)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "loud")
		response, err := client.Do(r)
		tr.response(response, err)
		if err != nil {
			return
		}
		conn := response.Body.(io.ReadWriteCloser)
		in := bufio.NewReader(conn)
		for _, line := range []string{"one\n", "two\n"} {
			_, err := io.WriteString(conn, line)
			answer, readErr := in.ReadString('\n')
			tr.say("%q, %v, %v", answer, err, readErr)
		}
		half, ok := conn.(interface{ CloseWrite() error })
		tr.say("half-closes %v", ok)
		if ok {
			tr.say("half-close %v", half.CloseWrite())
		}
		rest, err := io.ReadAll(in)
		tr.say("rest %q, %v, close %v", rest, err, conn.Close())
	})
}

// The proxy is a real one, to which the client says CONNECT.
func TestSameAsWithoutThroughAProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(tunnel))
	defer proxy.Close()
	u, _ := url.Parse(proxy.URL)
	for _, http2 := range []bool{false, true} {
		a := newArena(t, http2, func(base *http.Transport) { base.Proxy = http.ProxyURL(u); base.DisableKeepAlives = true })
		for _, run := range []scenario{do("GET", "/echo", nil), do("POST", "/echo", ofStream(1000)), do("GET", "/trailer", nil)} {
			a.compare(t, run)
		}
	}
}

// Requests with the method CONNECT are the caller's own business, and what comes back is too.
func TestSameAsWithoutOnCONNECT(t *testing.T) {
	echoing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(conn, strings.ToUpper(line))
	}))
	defer echoing.Close()
	a := newArena(t, false, nil)
	connect := func(tr *transcript, client *http.Client, _ string) {
		in, out := io.Pipe()
		u, _ := url.Parse(echoing.URL)
		r := (&http.Request{Method: http.MethodConnect, URL: u, Host: "target:1", Header: http.Header{}, Body: in}).WithContext(context.Background())
		go func() { _, _ = io.WriteString(out, "text\n"); _ = out.Close() }()
		tr.response(client.Do(r)) //nolint:bodyclose // response closes it
	}
	a.compare(t, connect)
}

// A timeout of http.Client is kept by other means with a transport that is not the standard library's own, so the words of
// the error may be either of two.
func TestTimeoutsOfTheStandardClient(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		a := newArena(t, http2, nil)
		a.throttled.Timeout = 1e6 // 1 ms, of a server that takes forever
		response, err := a.throttled.Get(a.server.URL + "/hang")
		if err == nil {
			_ = response.Body.Close()
			t.Fatal("got an answer, want a timeout")
		}
		var timeout net.Error
		equal(t, "timeout", errors.As(err, &timeout) && timeout.Timeout(), true)
		got := books(throttleOf(t, a.transport, a.server.Listener.Addr().String()))
		equal(t, "books", got == "1 medium rejected/timeout" || got == "", true) // over before it began, on a slow machine
	}
}

func FuzzSameAsWithout(f *testing.F) {
	for _, s := range []string{"", "x", strings.Repeat("0123456789", 7000)} {
		f.Add([]byte(s), true, false, uint16(200))
		f.Add([]byte(s), false, true, uint16(503))
	}
	var arenas []*arena
	for _, http2 := range []bool{false, true} {
		arenas = append(arenas, newArena(f, http2, nil))
	}
	f.Fuzz(func(t *testing.T, text []byte, streamed, trailer bool, status uint16) {
		body := func() io.Reader {
			if streamed {
				return io.MultiReader(bytes.NewReader(text))
			}
			return bytes.NewReader(text)
		}
		change := func(r *http.Request) {
			if trailer && len(text) > 0 { // over HTTP/2 the standard library waits forever to send a trailer after nothing
				r.Trailer = http.Header{"After": {"all"}}
			}
		}
		for _, a := range arenas {
			a.compare(t, do("POST", "/echo", body, change))
			a.compare(t, do("GET", fmt.Sprint("/status/", 200+status%800), nil, change))
			a.compare(t, do("GET", fmt.Sprint("/size?n=", len(text)), nil))
		}
	})
}
