package httpthrottle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func routes() *throttle.Group {
	return throttle.Must(throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "routes"} }, throttle.GroupConfig{}))
}

// A middleware around a mux has one throttle, and passes on the pattern that the mux has matched.
func TestMiddleware_aroundAMux(t *testing.T) {
	group, mux := routes(), http.NewServeMux()
	mux.Handle("GET /b/{id}", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest(http.MethodGet, "/b/7", nil)
	served(nil, httpthrottle.MiddlewareConfig{Group: group}, r, mux.ServeHTTP)
	equal(t, "books", books(throttle.Must(group.Get(""))), "1 medium accepted/none")
	equal(t, "pattern copied", r.Pattern, "GET /b/{id}")
}

// A server that shuts down may close its group before its last request.
func TestMiddleware_afterClose(t *testing.T) {
	group := routes()
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

// A mistake in the arguments panics when the middleware is built, not with the first request.
func TestMiddleware_Arguments(t *testing.T) {
	group := routes()
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

// A handler works in the same way with the middleware as without it, over either protocol.
func TestMiddleware_SameAsWithout(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		rec := throttletest.NewRecorder()
		th := newThrottle(t, throttle.Config{Hooks: rec.Hooks()})
		var handlers sync.WaitGroup
		bare := serve(t, scenery(), http2)
		throttled := serve(t, tracked{httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(scenery()), &handlers}, http2)
		for _, path := range []string{"/abilities", "/file", "/hints", "/trailer", "/panic", "/break", "/nothing"} {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				if path == "/break" && method == "HEAD" {
					continue // what comes first is a race in the standard library
				}
				compare(t, fmt.Sprintf("HTTP2=%v %s %s", http2, method, path), bare, throttled, do(method, path, ofStream(1000)))
			}
		}
		if !http2 {
			compare(t, "upgrade", bare, throttled, upgrading)
		}
		handlers.Wait()
		started, finished := rec.Count(throttletest.KindStarted), rec.Count(throttletest.KindFinished)
		equal(t, "started calls finished", started, finished)
		equal(t, "at least 20 requests", started >= 20, true) // the client may retry some
		equal(t, "in flight", strings.Contains(books(th), "in flight"), false)
	}
}

// Health checks are served whatever the throttle decides. An Exempt of the config replaces them.
func TestMiddleware_Exempt(t *testing.T) {
	teapot := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	own := func(r *http.Request) bool { return r.URL.Path == "/status" }
	for target, want := range map[string]bool{
		"/healthz": true, "/livez": true, "/readyz": true, "/health": true, "/ping": true, "/readyz?verbose": true, "http://shop.example/ping": true,
		"/": false, "/healthz/": false, "/healthz/db": false, "/HEALTHZ": false, "/api/healthz": false, "//healthz": false, "/?path=/healthz": false, "/status": false,
	} {
		for _, c := range []httpthrottle.MiddlewareConfig{{}, {Exempt: own}} {
			if c.Exempt != nil {
				want = target == "/status"
			}
			th := shedding(t, throttle.Config{})
			counted := books(th)
			w := served(th, c, httptest.NewRequest(http.MethodGet, target, http.NoBody), teapot)
			equal(t, target+": is served", w.Code == http.StatusTeapot, want)
			equal(t, target+": exempt", th.Stats().Exempt == 1, want)
			equal(t, target+": other calls", books(th), counted)
		}
	}
}
