package bucket_test

import (
	"context"
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
			{"GET", "ann", "/", 200, `"my \"api\" \\ __";r=0;t=3`, "", "served"},
			{"GET", "ann", "/", 429, `"my \"api\" \\ __";r=0;t=3`, "2", "Too Many Requests"},
			{"HEAD", "ann", "/", 429, `"my \"api\" \\ __";r=0;t=3`, "2", ""},
			{"GET", "bob", "/2", 200, `"my \"api\" \\ __";r=0;t=3`, "", "served"},
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

func TestMiddlewareWithoutTheStore(t *testing.T) {
	store := newRemote()
	store.set(nil, errDown)
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
		t.Errorf("somebody who has left was answered: %s", w.Body)
	}
}
