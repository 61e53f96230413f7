package bucket_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
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

// TestMiddleware_ClientIsGone checks that a client that has disconnected gets no response.
func TestMiddleware_ClientIsGone(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	costing(limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), 1).ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
	if w.Body.Len() > 0 {
		t.Errorf("got %s want no response", w.Body)
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
	w := get(t, h)
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		if got := strings.Join(w.Result().Header.Values(name), ", "); !strings.Contains(got, `"all"`) || !strings.Contains(got, `"one"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestMiddleware_LateWithinThrottle checks that a request that was too late for the limiter counts
// as a rejection by the server.
func TestMiddleware_LateWithinThrottle(t *testing.T) {
	th := throttle.Must(throttle.New(throttle.Config{Name: "late"}))
	limited := bucket.Middleware(limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), bucket.MiddlewareConfig{})(http.NotFoundHandler())
	h := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithDeadline(r.Context(), time.Unix(0, 0))
		defer cancel()
		limited.ServeHTTP(w, r.WithContext(ctx))
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if got, want := books(th), "1 rejected/availability"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

// books returns what a throttle counted.
func books(th *throttle.Throttle) string {
	var words []string
	for _, p := range th.Stats().Priorities {
		for ended := range p.Ended.All() {
			words = append(words, fmt.Sprintf("%d %v/%v", ended.Calls, ended.Outcome, ended.Fault))
		}
	}
	return strings.Join(words, ", ")
}

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
