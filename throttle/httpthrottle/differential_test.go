package httpthrottle_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// transcript is all that a client gets to know of an exchange, but for the time and the numbers of ports and streams.
type transcript struct {
	strings.Builder
}

func (tr *transcript) say(format string, args ...any) {
	numbers := regexp.MustCompile(`((127\.0\.0\.1|\[::1\]):|stream ID )\d+`)
	fmt.Fprintln(tr, numbers.ReplaceAllString(fmt.Sprintf(format, args...), "${1}0"))
}

func (tr *transcript) header(name string, h http.Header) {
	for _, key := range slices.Sorted(maps.Keys(h)) {
		if key != "Date" {
			tr.say("%s %s: %q", name, key, h[key])
		}
	}
}

// response says all about a response, and reads it.
func (tr *transcript) response(response *http.Response, err error) {
	if err != nil {
		tr.say("error %T %v, timeout %v", err, err, os.IsTimeout(err))
		return
	}
	tr.say("%s %s, length %d, %v, close %v, uncompressed %v", response.Proto, response.Status, response.ContentLength,
		response.TransferEncoding, response.Close, response.Uncompressed)
	tr.header("header", response.Header)
	_, writer := response.Body.(io.Writer)
	_, half := response.Body.(interface{ CloseWrite() error })
	tr.say("from %s %s, NoBody %v, Writer %v, half-closer %v, TLS %v", response.Request.Method, response.Request.URL, response.Body == http.NoBody,
		writer, half, response.TLS != nil)
	if response.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	tr.body(response)
}

// body reads a body to its end.
func (tr *transcript) body(response *http.Response) {
	text, err := io.ReadAll(response.Body)
	tr.say("body %d %x, error %v", len(text), sha256.Sum256(text), err)
	tr.header("trailer", response.Trailer)
	_, again := response.Body.Read(make([]byte, 1))
	tr.say("read again %v, close %v", again, response.Body.Close())
	_, again = response.Body.Read(make([]byte, 1))
	tr.say("read after close %v, close again %v", again, response.Body.Close())
}

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

// scenery is what the server can do.
func scenery() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/size", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		text := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		_, _ = w.Write(text[:n/2])
		if r.FormValue("flush") != "" {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(text[n/2:])
	})
	mux.HandleFunc("/status/{status}", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	})
	mux.HandleFunc("/trailer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "A, B")
		_, _ = io.WriteString(w, "text")
		w.Header().Set("A", "1")
		w.Header().Set("B", "2")
		w.Header().Set(http.TrailerPrefix+"C", "3")
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		_, _ = io.WriteString(w, "text")
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.Repeat("text", 1000))
		_ = z.Close()
	})
	mux.HandleFunc("/redirect/{status}", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.PathValue("status"))
		http.Redirect(w, r, "/echo", status)
	})
	mux.HandleFunc("/refuse", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusExpectationFailed) })
	mux.HandleFunc("/break", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "text")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "text")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/upgrade", upgrade)
	return mux
}

// echo says all about the request.
func echo(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s, length %d, %v, %x, error %v\n", r.Method, r.URL, r.Proto, r.ContentLength, r.TransferEncoding, sha256.Sum256(text), err)
	for _, h := range []http.Header{r.Header, r.Trailer} {
		for _, key := range slices.Sorted(maps.Keys(h)) {
			fmt.Fprintf(w, "%s: %q\n", key, h[key])
		}
	}
}

// upgrade switches protocols, to one that says everything back in upper case.
func upgrade(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: loud\r\n\r\n")
	for line := range lines(rw.Reader) {
		_, _ = io.WriteString(conn, strings.ToUpper(line))
	}
}

func lines(r *bufio.Reader) func(func(string) bool) {
	return func(yield func(string) bool) {
		for {
			line, err := r.ReadString('\n')
			if err != nil || !yield(line) {
				return
			}
		}
	}
}

// A scenario is something that a client does.
type scenario = func(tr *transcript, client *http.Client, server string)

// do sends a request with a body that is made anew each time.
func do(method, path string, body func() io.Reader, change ...func(*http.Request)) scenario {
	return func(tr *transcript, client *http.Client, server string) {
		var text io.Reader
		if body != nil {
			text = body()
		}
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
			Got100Continue: func() { tr.say("100") },
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				tr.header(strconv.Itoa(code), http.Header(h))
				return nil
			},
		})
		r, err := http.NewRequestWithContext(ctx, method, server+path, text)
		if err != nil {
			tr.say("%v", err)
			return
		}
		for _, f := range change {
			f(r)
		}
		tr.response(client.Do(r)) //nolint:bodyclose // response closes it
	}
}

func ofBytes(n int) func() io.Reader {
	return func() io.Reader { return bytes.NewReader(bytes.Repeat([]byte("x"), n)) }
}

func ofStream(n int64) func() io.Reader {
	return func() io.Reader { return io.LimitReader(endless{}, n) }
}

// endless is a stream of the letter e.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'e'
	}
	return len(p), nil
}

func scenarios(t *testing.T) map[string]scenario {
	file := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(file, bytes.Repeat([]byte("file"), 50_000), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() io.Reader { f, _ := os.Open(file); return f }
	length := func(n int64) func(*http.Request) { return func(r *http.Request) { r.ContentLength = n } }
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	trailer := func(r *http.Request) { r.Trailer = http.Header{"After": {"all"}} }
	all := map[string]scenario{
		"get": do("GET", "/echo", nil), "head": do("HEAD", "/echo", nil), "options": do("OPTIONS", "/echo", nil), "delete": do("DELETE", "/echo", nil),
		"NoBody":          do("POST", "/echo", func() io.Reader { return http.NoBody }),
		"string":          do("POST", "/echo", func() io.Reader { return strings.NewReader("text") }),
		"stream":          do("POST", "/echo", ofStream(100_000)),
		"stream, empty":   do("POST", "/echo", ofStream(0)),
		"stream, length":  do("PUT", "/echo", ofStream(100_000), length(100_000)),
		"stream, trailer": do("POST", "/echo", ofStream(10), trailer),
		"file":            do("PUT", "/echo", open), "file, length": do("PUT", "/echo", open, length(200_000)),
		"nop closer":    do("PUT", "/echo", nil, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("text")) }, length(4)),
		"own header":    do("GET", "/echo", nil, set("A", "1"), set("User-Agent", "")),
		"trailer":       do("GET", "/trailer", nil),
		"hints":         do("GET", "/hints", nil),
		"gzip":          do("GET", "/gzip", nil),
		"gzip, asked":   do("GET", "/gzip", nil, set("Accept-Encoding", "gzip")),
		"gzip, head":    do("HEAD", "/gzip", nil),
		"continue":      do("POST", "/echo", ofBytes(5000), set("Expect", "100-continue")),
		"not continued": do("POST", "/refuse", ofBytes(5000), set("Expect", "100-continue")),
		"break":         do("GET", "/break", nil),
		"HTTP close":    do("GET", "/echo", nil, func(r *http.Request) { r.Close = true }),
		"bad method":    do("GET", "/echo", nil, func(r *http.Request) { r.Method = "A B" }),
		"bad header":    do("GET", "/echo", nil, func(r *http.Request) { r.Header["A B"] = nil }),
		"bad scheme":    do("GET", "/echo", nil, func(r *http.Request) { r.URL.Scheme = "gopher" }),
		"no host":       do("GET", "/echo", nil, func(r *http.Request) { r.URL.Host = "" }),
	}
	for _, n := range []int{0, 1, 2, 511, 512, 513, 2047, 2048, 4096, 4097, 65535, 65536, 1 << 20} {
		all[fmt.Sprint("size ", n)] = do("GET", fmt.Sprint("/size?n=", n), nil)
		all[fmt.Sprint("size, flushed ", n)] = do("GET", fmt.Sprint("/size?flush=1&n=", n), nil)
		all[fmt.Sprint("upload ", n)] = do("POST", "/echo", ofBytes(n))
	}
	for _, status := range []int{200, 201, 204, 205, 206, 300, 304, 400, 401, 403, 404, 408, 409, 410, 412, 417, 418, 425, 428, 429, 499, 500, 501, 502, 503, 504, 599, 999} {
		all[fmt.Sprint("status ", status)] = do("GET", fmt.Sprint("/status/", status), nil)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		all[fmt.Sprint("redirect ", status)] = do("POST", fmt.Sprint("/redirect/", status), ofBytes(10))
		all[fmt.Sprint("redirect a stream ", status)] = do("POST", fmt.Sprint("/redirect/", status), ofStream(10))
	}
	return all
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

func canceledBefore(tr *transcript, client *http.Client, server string) {
	ctx, cancel := context.WithCancel(context.Background()) // of causes HTTP/1 and 2 think differently
	cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, server+"/echo", strings.NewReader("text"))
	tr.response(client.Do(r)) //nolint:bodyclose // response closes it
}

func canceledWhileHeaders(tr *transcript, client *http.Client, server string) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { cancel(errPlain) }})
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server+"/hang", http.NoBody)
	tr.response(client.Do(r)) //nolint:bodyclose // response closes it
}

func canceledWhileBody(tr *transcript, client *http.Client, server string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server+"/drip", http.NoBody)
	response, err := client.Do(r)
	if err != nil {
		tr.say("error %v", err)
		return
	}
	_, err = io.ReadFull(response.Body, make([]byte, 4))
	tr.say("first %v", err)
	cancel()
	_, err = response.Body.Read(make([]byte, 1))
	_ = response.Body.Close()
	tr.say("fails when canceled %v", err != nil) // with which error is a race in the standard library
}

func closedEarly(tr *transcript, client *http.Client, server string) {
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server+"/drip", http.NoBody)
	response, err := client.Do(r)
	if err != nil {
		tr.say("error %v", err)
		return
	}
	tr.say("close %v", response.Body.Close())
	_, err = response.Body.Read(make([]byte, 1))
	tr.say("read %v", err)
}

func forever503(tr *transcript, client *http.Client, server string) {
	for range 30 {
		do("GET", "/status/503", nil)(tr, client, server)
	}
}

func sideBySide(tr *transcript, client *http.Client, server string) {
	texts := make([]transcript, 16)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() { do("POST", "/echo", ofBytes(i*100))(&texts[i], client, server) })
	}
	wg.Wait()
	for i := range texts {
		tr.say("%s", texts[i].String())
	}
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

// tunnel is a proxy that knows CONNECT only.
func tunnel(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	}
	server, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	_, _ = io.Copy(client, server)
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
