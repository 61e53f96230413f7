package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// served runs one request through a middleware with this handler.
func served(th *throttle.Throttle, c httpthrottle.MiddlewareConfig, r *http.Request, handler http.HandlerFunc) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	httpthrottle.Middleware(th, c)(handler).ServeHTTP(w, r)
	return w
}

func incoming(ctx context.Context) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
}

func never(t *testing.T) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) {
		t.Helper()
		t.Error("got the request served, want it shed")
	}
}

// What handlers answer, and what the throttle makes of it: at the header, and in the end.
func TestWhatHandlersAnswer(t *testing.T) {
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
		w := &witness{}
		th := newThrottle(t, throttle.Config{Hooks: w.hooks()})
		recorder := served(th, httpthrottle.MiddlewareConfig{Default: throttle.Low}, incoming(t.Context()), func(rw http.ResponseWriter, _ *http.Request) {
			equal(t, name+": at first", books(th), "1 low in flight")
			c.handler(rw, func() { equal(t, name+": at the header", books(th), "1 low "+c.want+", 1 low in flight") })
			w.want(t, "started")
		})
		equal(t, name+": in the end", books(th), "1 low "+c.want)
		equal(t, name+": status", recorder.Code, c.status)
		w.want(t, "started", "finished")
	}
}

// 101 is final, though it is a 1xx. A recorder does not know that.
func TestSwitchingProtocolsIsFinal(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusSwitchingProtocols)
		equal(t, "at the header", books(th), "1 high accepted/none, 1 high in flight")
	})
}

func TestRetryAfterOfHandlersIsKnown(t *testing.T) {
	var told error
	th := newThrottle(t, throttle.Config{Classify: func(_ context.Context, err error) (throttle.Outcome, bool) { told = err; return 0, false }})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(503)
	})
	failure, _ := faults.AsUnavailable(told)
	equal(t, "delay", failure.RetryInfo.RetryDelay.String(), "7s")
}

func TestStatusesThatAreNone(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000, 100_000} {
		w := &witness{}
		th := newThrottle(t, throttle.Config{Hooks: w.hooks()})
		got := panics(func() {
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		})
		want := panics(func() { httptest.NewRecorder().WriteHeader(status) })
		equal(t, "panic", got, want)
		equal(t, "books", books(th), "1 high ignored/panic")
		w.want(t, "started", "finished")
	}
}

func TestHandlersThatPanic(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"at once":       {func(http.ResponseWriter, *http.Request) { panic("an accident") }, "ignored/panic"},
		"after headers": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); panic("an accident") }, "rejected/availability"},
		"aborting":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "ignored/panic"},
	} {
		w := &witness{}
		th := newThrottle(t, throttle.Config{Hooks: w.hooks()})
		got := panics(func() { served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), c.handler) })
		want := panics(func() { c.handler(httptest.NewRecorder(), nil) })
		equal(t, name+": panic", got, want)
		equal(t, name, books(th), "1 high "+c.want)
		w.want(t, "started", "finished")
		equal(t, name+": told", errors.Is(w.finished[0].Err, throttle.ErrPanicked), true)
	}
	th := newThrottle(t, throttle.Config{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
	}()
	<-gone
	equal(t, "Goexit", books(th), "1 high ignored/panic")
}

func TestClientsThatGoAway(t *testing.T) {
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
		served(th, httpthrottle.MiddlewareConfig{}, incoming(ctx), func(w http.ResponseWriter, _ *http.Request) {
			if c.answer == nil {
				w.WriteHeader(503)
			}
			cancel()
			if c.answer != nil {
				c.answer(w)
			}
		})
		equal(t, name, books(th), "1 high "+c.want)
	}
	ctx, cancel := context.WithDeadline(t.Context(), past())
	defer cancel()
	th := newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(lazy{ctx, new(int)}), func(http.ResponseWriter, *http.Request) {})
	equal(t, "deadline", books(th), "1 high rejected/timeout")
	th = newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(lazy{ctx, new(int)}), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
	equal(t, "deadline, but answered", books(th), "1 high accepted/missing")
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
	equal(t, "inside a mux", stats("GET /a/{id}"), "1 high accepted/none")

	outside.Handle("GET /b/{id}", handler)
	around := httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: group})(outside)
	r := httptest.NewRequest(http.MethodGet, "/b/7", nil)
	around.ServeHTTP(httptest.NewRecorder(), r)
	equal(t, "around a mux", stats(""), "1 high accepted/none")
	equal(t, "pattern handed back", r.Pattern, "GET /b/{id}")

	byTenant := httpthrottle.MiddlewareConfig{Group: group, Key: func(r *http.Request) string { return r.Header.Get("Tenant") }}
	r = incoming(t.Context())
	r.Header.Set("Tenant", "seven")
	served(newThrottle(t, throttle.Config{}), byTenant, r, handler)
	equal(t, "own key", stats("seven"), "1 high accepted/none")

	_ = group.Close()
	w := served(nil, byTenant, r, never(t))
	equal(t, "status after Close", w.Code, http.StatusInternalServerError)
	equal(t, "Retry-After after Close", w.Header().Get("Retry-After"), "")
}

func TestMultipartFormsAreHandedBack(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	served(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{}, r, func(_ http.ResponseWriter, r *http.Request) {
		equal(t, "value", r.FormValue("a"), "1")
	})
	equal(t, "form handed back", r.MultipartForm != nil, true)
}

func TestContextOfStartedOnTheServer(t *testing.T) {
	th := newThrottle(t, throttle.Config{Hooks: throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return context.WithValue(ctx, mark{}, "span")
	}}})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(_ http.ResponseWriter, r *http.Request) {
		equal(t, "mark", r.Context().Value(mark{}), any("span"))
	})
}

func TestMiddlewareWantsAThrottle(t *testing.T) {
	if got := fmt.Sprint(panics(func() { httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{}) })); !strings.Contains(got, "needs a Throttle") {
		t.Errorf("got %s want a panic that says what is needed", got)
	}
}

// Two middlewares around one handler, as around the server and around a route, both learn what it says.
func TestMiddlewareInMiddleware(t *testing.T) {
	outer, inner := newThrottle(t, throttle.Config{}), newThrottle(t, throttle.Config{})
	handler := httpthrottle.Middleware(inner, httpthrottle.MiddlewareConfig{Default: throttle.Medium})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
	}))
	served(outer, httpthrottle.MiddlewareConfig{Default: throttle.Low}, incoming(t.Context()), handler.ServeHTTP)
	equal(t, "outer", books(outer), "1 low rejected/availability")
	equal(t, "inner", books(inner), "1 low rejected/availability")
}
