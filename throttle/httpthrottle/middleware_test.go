package httpthrottle_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// The outcome is recorded at the header, and stays the same to the end.
func TestMiddleware_Outcomes(t *testing.T) {
	for name, c := range map[string]struct {
		handler func(w http.ResponseWriter, atHeader func())
		want    string
		status  int
	}{
		"nothing":       {func(http.ResponseWriter, func()) {}, "accepted/none", 200},
		"200":           {func(w http.ResponseWriter, at func()) { w.WriteHeader(200); at() }, "accepted/none", 200},
		"body only":     {func(w http.ResponseWriter, at func()) { _, _ = w.Write([]byte("text")); at() }, "accepted/none", 200},
		"empty body":    {func(w http.ResponseWriter, at func()) { _, _ = w.Write(nil); at(); w.WriteHeader(503) }, "accepted/none", 200},
		"string only":   {func(w http.ResponseWriter, at func()) { _, _ = io.WriteString(w, "text"); at(); w.WriteHeader(503) }, "accepted/none", 200},
		"flush only":    {func(w http.ResponseWriter, at func()) { w.(http.Flusher).Flush(); at(); w.WriteHeader(503) }, "accepted/none", 200},
		"404":           {func(w http.ResponseWriter, at func()) { http.Error(w, "", http.StatusNotFound); at() }, "accepted/missing", 404},
		"429":           {func(w http.ResponseWriter, at func()) { http.Error(w, "", http.StatusTooManyRequests); at() }, "rejected/quota", 429},
		"500":           {func(w http.ResponseWriter, at func()) { http.Error(w, "", http.StatusInternalServerError); at() }, "accepted/other", 500},
		"503":           {func(w http.ResponseWriter, at func()) { http.Error(w, "", http.StatusServiceUnavailable); at() }, "rejected/availability", 503},
		"999":           {func(w http.ResponseWriter, at func()) { w.WriteHeader(999); at() }, "accepted/other", 999},
		"503, then 200": {func(w http.ResponseWriter, at func()) { w.WriteHeader(503); at(); w.WriteHeader(200) }, "rejected/availability", 503},
		"1xx, then 503": {func(w http.ResponseWriter, at func()) {
			w.WriteHeader(103)
			w.WriteHeader(102)
			w.WriteHeader(503)
			at()
		}, "rejected/availability", 103}, // a recorder keeps the first, final or not
	} {
		rec := throttletest.NewRecorder()
		th := newThrottle(t, throttle.Config{Hooks: rec.Hooks()})
		recorder := served(th, httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Default: throttle.Low}}, incoming(t.Context()), func(rw http.ResponseWriter, _ *http.Request) {
			equal(t, name+": at first", books(th), "1 low in flight")
			c.handler(rw, func() { equal(t, name+": at the header", books(th), "1 low "+c.want+", 1 low in flight") })
			equal(t, "hook calls", hookCalls(rec), "1 started, 0 finished")
		})
		equal(t, name+": in the end", books(th), "1 low "+c.want)
		equal(t, name+": status", recorder.Code, c.status)
		equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
	}
}

// 101 is final, although it is a 1xx. httptest.ResponseRecorder ignores that.
func TestMiddleware_SwitchingProtocols(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusSwitchingProtocols)
		equal(t, "at the header", books(th), "1 medium accepted/none, 1 medium in flight")
	})
}

func TestMiddleware_InvalidStatus(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000, 100_000} {
		rec := throttletest.NewRecorder()
		th := newThrottle(t, throttle.Config{Hooks: rec.Hooks()})
		got := panics(func() {
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		})
		want := panics(func() { httptest.NewRecorder().WriteHeader(status) })
		equal(t, "panic", got, want)
		equal(t, "books", books(th), "1 medium ignored/panic")
		equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
	}
}

func TestMiddleware_Panic(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"at once":       {func(http.ResponseWriter, *http.Request) { panic("an accident") }, "ignored/panic"},
		"after headers": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); panic("an accident") }, "rejected/availability"},
		"aborting":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "ignored/panic"},
	} {
		rec := throttletest.NewRecorder()
		th := newThrottle(t, throttle.Config{Hooks: rec.Hooks()})
		got := panics(func() { served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), c.handler) })
		want := panics(func() { c.handler(httptest.NewRecorder(), nil) })
		equal(t, name+": panic", got, want)
		equal(t, name, books(th), "1 medium "+c.want)
		equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
		equal(t, name+": reported", errors.Is(rec.Finished()[0].Err, throttle.ErrPanicked), true)
	}
	th := newThrottle(t, throttle.Config{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
	}()
	<-gone
	equal(t, "Goexit", books(th), "1 medium ignored/panic")
}

func TestMiddleware_Disconnects(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"nothing":   {func(http.ResponseWriter) {}, "ignored/canceled"},
		"503":       {func(w http.ResponseWriter) { w.WriteHeader(503) }, "ignored/canceled"},
		"200":       {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "text") }, "ignored/canceled"},
		"too early": {nil, "rejected/availability"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		th := newThrottle(t, throttle.Config{})
		served(th, httpthrottle.MiddlewareConfig{}, incoming(ctx), func(w http.ResponseWriter, r *http.Request) {
			if c.answer == nil {
				w.WriteHeader(503)
			}
			cancel()
			<-r.Context().Done()
			if c.answer != nil {
				c.answer(w)
			}
		})
		equal(t, name, books(th), "1 medium "+c.want)
	}
	ctx, cancel := context.WithDeadline(t.Context(), past())
	defer cancel()
	th := newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(lazy{ctx, new(int)}), func(http.ResponseWriter, *http.Request) {})
	equal(t, "deadline", books(th), "1 medium rejected/timeout")
	th = newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(lazy{ctx, new(int)}), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
	equal(t, "deadline, answered too late", books(th), "1 medium rejected/timeout")
}

// TestMiddleware_tunedGroup serves, whatever the settings of the group that were accepted before its first request.
func TestMiddleware_tunedGroup(t *testing.T) {
	g := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "shop", Policy: throttle.SRE}
	}, throttle.GroupConfig{}))
	equal(t, "Tune", g.Tune(throttle.Patch{MinimumRate: new(0.001)}), nil)
	recorder := served(nil, httpthrottle.MiddlewareConfig{Group: g}, incoming(t.Context()), func(http.ResponseWriter, *http.Request) {})
	equal(t, "status", recorder.Code, http.StatusOK)
}

func TestGroups(t *testing.T) {
	group, err := throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "routes"} }, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	stats := func(key string) string {
		th, err := group.Get(key)
		if err != nil {
			return err.Error()
		}
		return books(th)
	}
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	inside, outside := http.NewServeMux(), http.NewServeMux()
	inside.Handle("GET /a/{id}", httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: group})(handler))
	inside.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a/7", nil))
	equal(t, "inside a mux", stats("GET /a/{id}"), "1 medium accepted/none")

	outside.Handle("GET /b/{id}", handler)
	around := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: group})(outside)
	r := httptest.NewRequest(http.MethodGet, "/b/7", nil)
	around.ServeHTTP(httptest.NewRecorder(), r)
	equal(t, "around a mux", stats(""), "1 medium accepted/none")
	equal(t, "pattern copied", r.Pattern, "GET /b/{id}")

	byTenant := httpthrottle.MiddlewareConfig{Group: group, Key: func(r *http.Request) string { return r.Header.Get("Tenant") }}
	r = incoming(t.Context())
	r.Header.Set("Tenant", "seven")
	served(nil, byTenant, r, handler)
	equal(t, "own key", stats("seven"), "1 medium accepted/none")
}

// A server that shuts down may close its group before its last request.
func TestMiddleware_afterClose(t *testing.T) {
	group, err := throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "routes"} }, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	_ = group.Close()
	serve := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: group})
	for range 3 {
		r := incoming(t.Context())
		r.Header.Set(httpthrottle.PriorityHeader, "high")
		w := httptest.NewRecorder()
		serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			equal(t, "untrusted header", r.Header.Get(httpthrottle.PriorityHeader), "")
			equal(t, "priority", throttle.PriorityFromContext(r.Context(), throttle.High), throttle.Medium)
			r.Pattern = "/pattern"
			w.WriteHeader(http.StatusNoContent)
		})).ServeHTTP(w, r)
		equal(t, "status", w.Code, http.StatusNoContent)
		equal(t, "pattern copied", r.Pattern, "/pattern")
	}
}

func TestMiddleware_MultipartForm(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	served(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{}, r, func(_ http.ResponseWriter, r *http.Request) {
		equal(t, "value", r.FormValue("a"), "1")
	})
	equal(t, "form copied", r.MultipartForm != nil, true)
}

func TestContextOfStartedOnTheServer(t *testing.T) {
	th := newThrottle(t, throttle.Config{Hooks: throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return context.WithValue(ctx, mark{}, "span")
	}}})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(_ http.ResponseWriter, r *http.Request) {
		equal(t, "mark", r.Context().Value(mark{}), any("span"))
	})
}

// A mistake in the arguments panics when the middleware is built, not with the first request.
func TestMiddleware_Arguments(t *testing.T) {
	group, err := throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "routes"} }, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	th, zero := newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{}
	for want, build := range map[string]func(){
		"throttle is nil: want one": func() { httpthrottle.Middleware(nil, zero) },
		"are set: want one of them": func() { httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{Group: group}) },
		"handler is nil: want a":    func() { httpthrottle.Middleware(th, zero)(nil) },
		"handler is nil":            func() { httpthrottle.Middleware(th, zero)(http.HandlerFunc(nil)) },
	} {
		if got := fmt.Sprint(panics(build)); !strings.HasPrefix(got, "httpthrottle: Middleware: ") || !strings.Contains(got, want) {
			t.Errorf("got %q want a panic with %q", got, want)
		}
	}
}

// behind is a handler that reports the abilities of its server, and uses them.
func behind(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	switch r.URL.Path {
	case "/abilities":
		_, str := w.(io.StringWriter)
		fmt.Fprintln(w, abilities(w), str)
		fmt.Fprintln(w, control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Now().Add(time.Hour)), control.Flush())
	case "/duplex":
		fmt.Fprintln(w, control.EnableFullDuplex(), control.Flush())
		in := bufio.NewReader(r.Body)
		for line := range lines(in) {
			_, _ = io.WriteString(w, strings.ToUpper(line))
			_ = control.Flush()
		}
	case "/copy":
		n, err := io.Copy(w, strings.NewReader(strings.Repeat("text", 10_000)))
		fmt.Fprintln(w, n, err)
	case "/file":
		http.ServeFile(w, r, "doc.go")
	case "/hints":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK) // too late
		fmt.Fprintln(w, "text")
	case "/trailer":
		w.Header().Set("Trailer", "A")
		fmt.Fprintln(w, "text")
		w.Header().Set("A", "1")
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/panic-late":
		fmt.Fprintln(w, "text")
		_ = control.Flush()
		panic(http.ErrAbortHandler)
	case "/timeout":
		_ = control.SetWriteDeadline(past())
		fmt.Fprintln(w, "text", control.Flush() != nil)
	}
}

// A handler works in the same way with the middleware as without it, over either protocol.
func TestMiddleware_SameAsWithout(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		rec := throttletest.NewRecorder()
		th := newThrottle(t, throttle.Config{Hooks: rec.Hooks()})
		bare := serve(http.HandlerFunc(behind), http2)
		var handlers sync.WaitGroup
		throttled := serve(tracked{httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(behind)), &handlers}, http2)
		for _, path := range []string{"/abilities", "/copy", "/file", "/hints", "/trailer", "/panic", "/panic-late", "/timeout", "/nothing"} {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				if path == "/panic-late" && method == "HEAD" {
					continue // what comes first is a race in the standard library
				}
				var want, got transcript
				do(method, path, ofStream(1000))(&want, bare.Client(), bare.URL)
				do(method, path, ofStream(1000))(&got, throttled.Client(), throttled.URL)
				if got.String() != want.String() {
					t.Errorf("HTTP2=%v %s %s\nwith the middleware:\n%swithout:\n%s", http2, method, path, got.String(), want.String())
				}
			}
		}
		duplex(t, throttled)
		bare.Close()
		throttled.Close()
		handlers.Wait()
		started, finished := rec.Count(throttletest.KindStarted), rec.Count(throttletest.KindFinished)
		equal(t, "started calls finished", started, finished)
		equal(t, "at least 27 requests", started >= 27, true) // the client may retry some
		equal(t, "in flight", strings.Contains(books(th), "in flight"), false)
	}
}

func serve(handler http.Handler, http2 bool) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	return server
}

// duplex exchanges lines with a server that answers before the request has ended.
func duplex(t *testing.T, server *httptest.Server) {
	t.Helper()
	in, out := io.Pipe()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/duplex", in)
	go func() { _, _ = io.WriteString(out, "one\n") }()
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answers := bufio.NewReader(response.Body)
	first, _ := answers.ReadString('\n')
	want := "<nil> <nil>\n"
	if response.ProtoMajor == 2 {
		want = first // which has it anyway, and says that it cannot be asked for
	}
	equal(t, "full duplex", first, want)
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		if line != "one\n" {
			_, _ = io.WriteString(out, line)
		}
		answer, err := answers.ReadString('\n')
		equal(t, "answer", fmt.Sprint(answer, err), strings.ToUpper(line)+"<nil>")
	}
	_ = out.Close()
	rest, err := io.ReadAll(answers)
	equal(t, "rest", fmt.Sprint(string(rest), err), "<nil>")
}

// chain is a reverse proxy with a throttle on either side, in front of a backend.
type chain struct {
	proxy     *httptest.Server
	address   string // of the backend
	own       *throttle.Throttle
	transport *httpthrottle.Transport
	requests  *sync.WaitGroup // that the proxy serves
}

func newChain(t *testing.T, backend http.HandlerFunc) *chain {
	t.Helper()
	c := &chain{own: newThrottle(t, throttle.Config{}), requests: &sync.WaitGroup{}}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	c.address = strings.TrimPrefix(server.URL, "http://")
	c.transport = newTransport(t, &http.Transport{}, httpthrottle.TransportConfig{Send: func(*http.Request) bool { return true }})
	t.Cleanup(c.transport.CloseIdleConnections)
	u, _ := url.Parse(server.URL)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: c.transport, ErrorLog: quiet()}
	serve := httpthrottle.Middleware(c.own, httpthrottle.MiddlewareConfig{Trust: throttle.Trust{Default: throttle.Low}})
	c.proxy = httptest.NewServer(tracked{serve(proxy), c.requests})
	t.Cleanup(c.proxy.Close)
	return c
}

// A connection that was hijacked is in flight until its handler returns.
func TestMiddleware_ProxyForwardsUpgrades(t *testing.T) {
	c := newChain(t, upgrade)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.proxy.URL, http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "loud")
	response, err := c.proxy.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	conn := response.Body.(io.ReadWriteCloser)
	_, _ = io.WriteString(conn, "one\n")
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	equal(t, "answer", answer, "ONE\n")
	equal(t, "backend, meanwhile", books(throttleOf(t, c.transport, c.address)), "1 low accepted/none, 1 low in flight")
	equal(t, "proxy, meanwhile", books(c.own), "1 low accepted/none, 1 low in flight")
	_ = conn.Close()
	c.end()
	equal(t, "proxy", books(c.own), "1 low accepted/none")
	equal(t, "backend", books(throttleOf(t, c.transport, c.address)), "1 low accepted/none")
}

// end waits until the proxy has served its requests, also those of disconnected clients.
func (c *chain) end() {
	c.proxy.Close()
	c.requests.Wait()
}
