package httpthrottle_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// behind is what a handler finds out about its server, and does there, with and without a middleware.
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
	case "/hijack":
		upgrade(w, r)
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

// A handler does the same behind the middleware, over either protocol.
func TestServersAreTheSameAsWithout(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		w := &witness{}
		th := newThrottle(t, throttle.Config{Hooks: w.hooks()})
		bare := serve(http.HandlerFunc(behind), http2)
		var handlers sync.WaitGroup
		throttled := serve(tracked{httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(behind)), &handlers}, http2)
		requests := 0
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
				requests++
			}
		}
		duplex(t, throttled)
		bare.Close()
		throttled.Close()
		handlers.Wait()
		equal(t, "started", count(w, "started"), count(w, "finished"))
		equal(t, "in flight", strings.Contains(books(th), "in flight"), false)
		equal(t, "as many as there were, or retried by the client", count(w, "started") >= requests+1, true)
	}
}

func serve(handler http.Handler, http2 bool) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	return server
}

// duplex talks to a server that answers while it is being talked to.
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

// A connection that was hijacked is in flight until its handler returns.
func TestHijackedConnections(t *testing.T) {
	w := &witness{}
	th := newThrottle(t, throttle.Config{Hooks: w.hooks()})
	var handlers sync.WaitGroup
	server := httptest.NewServer(tracked{httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{Default: throttle.Low})(http.HandlerFunc(behind)), &handlers})
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/hijack", http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "loud")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	conn := response.Body.(io.ReadWriteCloser)
	_, _ = io.WriteString(conn, "one\n")
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	equal(t, "answer", answer, "ONE\n")
	equal(t, "while it is open", books(th), "1 low accepted/none, 1 low in flight")
	_ = conn.Close()
	server.Close()
	handlers.Wait()
	equal(t, "afterwards", books(th), "1 low accepted/none")
	w.want(t, "started", "finished")
}

// tracked is a handler whose requests can be waited for.
type tracked struct {
	http.Handler
	requests *sync.WaitGroup
}

func (h tracked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	defer h.requests.Done()
	h.Handler.ServeHTTP(w, r)
}

// A client that goes away while its request is served is noticed by the server, and ignored.
func TestARealClientGoesAway(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		th := newThrottle(t, throttle.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var handlers sync.WaitGroup
		server := serve(tracked{httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
			w.WriteHeader(http.StatusServiceUnavailable)
		})), &handlers}, http2)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
		if response, err := server.Client().Do(r); err == nil {
			_ = response.Body.Close() // it was just in time
		}
		server.Close()
		handlers.Wait()
		equal(t, "books", books(th), "1 high ignored/canceled")
	}
}
