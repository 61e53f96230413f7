package bucket_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, bucket.Config{Name: "my \"api\" \\ ü", Limit: bucket.Limit{Capacity: 2, Refill: 2, Period: 3 * time.Second}})
		h := bucket.Middleware(l, bucket.MiddlewareConfig{
			Key:  func(r *http.Request) string { return r.Header.Get("Caller") },
			Cost: func(r *http.Request) int64 { return int64(len(r.URL.Path)) },
		})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served")) }))
		const policy = `"my \"api\" \\ __";q=2;w=3`
		steps := []struct {
			method, caller, path string
			status               int
			limit, retry, body   string
		}{
			{"GET", "ann", "/", 200, `"my \"api\" \\ __";r=1;t=2`, "", "served"},
			{"GET", "ann", "/", 200, `"my \"api\" \\ __";r=0;t=2`, "", "served"},
			{"GET", "ann", "/", 429, `"my \"api\" \\ __";r=0;t=2`, "2", "quota-exceeded"},
			{"HEAD", "ann", "/", 429, `"my \"api\" \\ __";r=0;t=2`, "2", ""},
			{"GET", "bob", "/2", 200, `"my \"api\" \\ __";r=0;t=2`, "", "served"},
			{"GET", "bob", "/33", 413, "", "", "Request Entity Too Large"},
		}
		for i, s := range steps {
			r := httptest.NewRequestWithContext(t.Context(), s.method, s.path, nil)
			r.Header.Set("Caller", s.caller)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Result().Header
			if w.Code != s.status || got.Get("RateLimit") != s.limit || got.Get("Retry-After") != s.retry || !strings.Contains(w.Body.String(), s.body) {
				t.Errorf("step %d: got %d, %v, %q", i, w.Code, got, w.Body)
			}
			if s.limit != "" && got.Get("RateLimit-Policy") != policy {
				t.Errorf("step %d: policy %s, want %s", i, got.Get("RateLimit-Policy"), policy)
			}
			if s.body == "" && w.Body.Len() > 0 {
				t.Errorf("step %d: HEAD was answered with a body", i)
			}
		}
	})
}

func TestMiddleware_WithoutTheStore(t *testing.T) {
	store := newFailing()
	l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(1), OnFailure: bucket.FailClosed})
	h := bucket.Middleware(l, bucket.MiddlewareConfig{Silent: true})(http.NotFoundHandler())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if got := w.Result().Header; w.Code != http.StatusServiceUnavailable || got.Get("Retry-After") != "1" || got.Get("RateLimit") != "" {
		t.Errorf("got %d, %v", w.Code, got)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
	if w.Body.Len() > 0 {
		t.Errorf("responded to a client that is gone: %s", w.Body)
	}
}

// TestMiddleware_Deadline checks that a request whose context has passed its deadline does not get
// a 200.
func TestMiddleware_Deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(make(chan struct{}), nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(1), OnFailure: bucket.FailClosed})
		served := false
		h := bucket.Middleware(l, bucket.MiddlewareConfig{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // a middleware's before it
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil))
		if w.Code == http.StatusOK && !served {
			t.Errorf("answered with %d and not served", w.Code)
		}
		time.Sleep(50 * time.Millisecond) // the call to the store goes on
	})
}

// TestMiddleware_TwoLimits checks that the responses have the fields of both limits.
func TestMiddleware_TwoLimits(t *testing.T) {
	all := limiter(t, bucket.Config{Name: "all", Limit: bucket.PerSecond(100)})
	one := limiter(t, bucket.Config{Name: "one", Limit: bucket.PerSecond(10)})
	h := bucket.Middleware(all, bucket.MiddlewareConfig{})(bucket.Middleware(one, bucket.MiddlewareConfig{})(http.NotFoundHandler()))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		if got := strings.Join(w.Result().Header.Values(name), ", "); !strings.Contains(got, `"all"`) || !strings.Contains(got, `"one"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestMiddleware_ReportsTheError checks that each enclosing ResponseWriter gets the error.
func TestMiddleware_ReportsTheError(t *testing.T) {
	store := newFailing()
	empty := limiter(t, bucket.Config{Limit: bucket.Every(time.Hour)})
	_ = empty.Take(t.Context(), "", 1)
	for _, tt := range []struct {
		name   string
		l      *bucket.Limiter
		cost   int64
		status int
		want   error
	}{
		{"denied", empty, 1, http.StatusTooManyRequests, bucket.ErrDenied},
		{"no answer", limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(1), OnFailure: bucket.FailClosed}), 1, http.StatusServiceUnavailable, bucket.ErrStore},
		{
			"more than the local share", limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(4), OnFailure: bucket.LocalShare, Replicas: 2}),
			3, http.StatusServiceUnavailable, bucket.ErrStore,
		},
		{"too many", empty, 2, http.StatusRequestEntityTooLarge, bucket.ErrExceedsCapacity},
		{"served", limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), 1, http.StatusNoContent, nil},
	} {
		h := bucket.Middleware(tt.l, bucket.MiddlewareConfig{Cost: func(*http.Request) int64 { return tt.cost }})(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		outer := &listener{ResponseWriter: httptest.NewRecorder()}
		inner := &listener{ResponseWriter: &wrapper{outer}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(&wrapper{&wrapper{inner}}, r)
		for _, w := range []*listener{outer, inner} {
			if tt.want == nil && len(w.told) == 0 && w.status == tt.status {
				continue
			}
			if len(w.told) != 1 || !errors.Is(w.told[0], tt.want) || w.status != tt.status || !w.first {
				t.Errorf("%s: told %v, before the status %v; status %d; want %v once and first, and %d", tt.name, w.told, w.first, w.status, tt.want, tt.status)
			}
		}
	}
}

// listener is the ResponseWriter of an enclosing middleware.
type listener struct {
	http.ResponseWriter
	told   []error
	status int
	first  bool // told before there was a status
}

func (l *listener) Tell(err error) { l.told, l.first = append(l.told, err), l.status == 0 }

func (l *listener) WriteHeader(status int) {
	l.status = status
	l.ResponseWriter.WriteHeader(status)
}

func (l *listener) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// wrapper is the writer of a middleware that knows nothing of limits.
type wrapper struct{ http.ResponseWriter }

func (w *wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestMiddleware_PanicsWhenItIsBuilt checks that there is no panic per request instead.
func TestMiddleware_PanicsWhenItIsBuilt(t *testing.T) {
	panics := func(name string, build func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s: got no panic", name)
			}
		}()
		build()
	}
	panics("nil limiter", func() { bucket.Middleware(nil, bucket.MiddlewareConfig{}) })
	panics("zero limiter", func() { bucket.Middleware(&bucket.Limiter{}, bucket.MiddlewareConfig{}) })
	middleware := bucket.Middleware(limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), bucket.MiddlewareConfig{})
	panics("nil handler", func() { middleware(nil) })
}
