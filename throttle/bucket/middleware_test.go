package bucket_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
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
	synctest.Test(t, func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.PerSecond(1), Hooks: bucket.Hooks{
			StoreCalled: func(context.Context, bucket.StoreEvent) { cancel() }, // during the decision
		}})
		w := httptest.NewRecorder()
		costing(l, 1).ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
		synctest.Wait()
		if d, err := l.Decide(t.Context(), ""); w.Body.Len() > 0 || err != nil || !d.Allowed {
			t.Errorf("got response %q, then %+v and %v want the token given back", w.Body, d, err)
		}
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
	equals(t, books(th), "1 rejected/availability", "counted")
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

// TestMiddleware_RateLimitFields checks that both fields have at most 15 digits per integer, and
// that there are none without an answer of the store.
func TestMiddleware_RateLimitFields(t *testing.T) {
	down := newFailing()
	for _, tt := range []struct {
		name          string
		c             bucket.Config
		policy, limit string
	}{
		{"100 at once, one per second", bucket.Config{Limit: bucket.PerSecond(1).WithBurst(100)}, `"test";q=100;w=100`, `"test";r=99;t=1`},
		{"huge", bucket.Config{Limit: bucket.Limit{Capacity: math.MaxInt64, Algorithm: bucket.Fixed}}, `"test";q=999999999999999;w=1`, `"test";r=999999999999999;t=1`},
		{"fails open", bucket.Config{Store: down, Limit: bucket.PerSecond(100)}, "", ""},
	} {
		if h := get(t, bucket.Middleware(limiter(t, tt.c), bucket.MiddlewareConfig{})(http.NotFoundHandler())).Header(); h.Get("RateLimit-Policy") != tt.policy || h.Get("RateLimit") != tt.limit {
			t.Errorf("%s: got %q and %q want %q and %q", tt.name, h.Get("RateLimit-Policy"), h.Get("RateLimit"), tt.policy, tt.limit)
		}
	}
}

// TestMiddleware_Reset checks that t is the time until there is one more token than r, to the second.
func TestMiddleware_Reset(t *testing.T) {
	for _, limit := range []bucket.Limit{
		{Capacity: 5, Refill: 1, Period: 3 * time.Second},
		{Capacity: 4, Period: 10 * time.Second, Algorithm: bucket.Fixed},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, bucket.Config{Limit: limit})
			for _, cost := range []int64{0, 1, 1, 0, 2, 1, 4} {
				remaining, reset := rateLimitOf(t, get(t, costing(l, cost)).Header())
				if remaining == limit.Capacity {
					equals(t, reset, 0, "%v: t of a full bucket", limit)
					continue
				}
				time.Sleep(time.Duration(reset)*time.Second - time.Millisecond)
				before, _ := l.Peek(t.Context(), "")
				time.Sleep(time.Millisecond)
				after, _ := l.Peek(t.Context(), "")
				if before.Remaining != remaining || after.Remaining <= remaining {
					t.Errorf("%v, cost %d: r=%d;t=%d: got %d tokens just before t and %d after it", limit, cost, remaining, reset, before.Remaining, after.Remaining)
				}
			}
		})
	}
}

// TestMiddleware_RetryAfterOfAStore checks the same for a store whose bucket is full later than it
// says that tokens are available.
func TestMiddleware_RetryAfterOfAStore(t *testing.T) {
	denies := func(context.Context, store.Request) (bucket.Decision, error) {
		return bucket.Decision{Limit: 2, RetryAfter: time.Second, ResetAfter: time.Minute}, nil
	}
	l := limiter(t, bucket.Config{Store: faked{take: denies}, Limit: bucket.Limit{Capacity: 2, Period: time.Minute, Algorithm: bucket.Fixed}})
	w := get(t, costing(l, 1))
	if got := w.Header().Get("RateLimit"); w.Header().Get("Retry-After") != "1" || !strings.HasSuffix(got, ";t=1") {
		t.Errorf("got Retry-After %s and RateLimit %s want 1 and t=1", w.Header().Get("Retry-After"), got)
	}
}

// get makes a request.
func get(t *testing.T, h http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w
}

// costing returns a limited handler whose requests have a cost.
func costing(l *bucket.Limiter, cost int64) http.Handler {
	return bucket.Middleware(l, bucket.MiddlewareConfig{Cost: func(*http.Request) int64 { return cost }})(http.NotFoundHandler())
}

// rateLimitOf returns r and t of a response.
func rateLimitOf(t *testing.T, h http.Header) (remaining, reset int64) {
	t.Helper()
	if n, err := fmt.Sscanf(h.Get("RateLimit"), `"test";r=%d;t=%d`, &remaining, &reset); n != 2 || err != nil {
		t.Fatalf("RateLimit is %q: %v", h.Get("RateLimit"), err)
	}
	return remaining, reset
}

// TestMiddleware_Problems checks the type, the title and the limits of each problem, and that no throttle outside of the
// limiter counts it as a rejection by the server, whatever hides the ResponseWriter.
func TestMiddleware_Problems(t *testing.T) {
	const (
		quota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
		reduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

		exceeded = "Request cannot be satisfied as assigned quota has been exceeded"
		capacity = "Request cannot be satisfied due to temporary server capacity constraints"
	)
	limit := bucket.Per(4, time.Hour)
	failing := func(p bucket.FailurePolicy, replicas int) bucket.Config {
		return bucket.Config{Store: newFailing(), Limit: limit, OnFailure: p, Replicas: replicas}
	}
	for _, tt := range []struct {
		name    string
		c       bucket.Config
		cost    int64
		silent  bool
		want    map[string]any
		counted string // by the throttles
	}{
		{"denied", bucket.Config{Limit: limit}, 3, false, problem(quota, exceeded, 429, `my "api" _`), "ignored/shed"},
		{"denied in silence", bucket.Config{Limit: limit}, 3, true, problem(quota, exceeded, 429), "ignored/shed"},
		{"the local share is used up", failing(bucket.LocalShare, 1), 3, false, problem(reduced, capacity, 429, `my "api" _`), "ignored/shed"},
		{"more than the local share", failing(bucket.LocalShare, 2), 3, false, problem(reduced, capacity, 503, `my "api" _`), "ignored/shed"},
		{"no answer", failing(bucket.FailClosed, 0), 3, true, problem(reduced, capacity, 503), "ignored/shed"},
		{"too many", bucket.Config{Limit: limit}, 5, false, problem("", "Request Entity Too Large", 413), "accepted/other"},
		{"negative", bucket.Config{Limit: limit}, -1, false, problem("", "Service Unavailable", 503), "ignored/availability"},
	} {
		for between, wrap := range map[string]func(http.Handler) http.Handler{
			"direct":         func(h http.Handler) http.Handler { return h },
			"TimeoutHandler": func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "") },
		} {
			t.Run(tt.name+", "+between, func(t *testing.T) {
				tt.c.Name = "my \"api\" \n"
				l := limiter(t, tt.c)
				_ = l.Take(t.Context(), "", tt.cost) // so that the request finds too few tokens
				h := bucket.Middleware(l, bucket.MiddlewareConfig{Cost: func(*http.Request) int64 { return tt.cost }, Silent: tt.silent})(http.NotFoundHandler())
				inner, outer := throttle.Must(throttle.New(throttle.Config{Name: "inner"})), throttle.Must(throttle.New(throttle.Config{Name: "outer"}))
				for _, th := range []*throttle.Throttle{inner, outer} {
					h = httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(wrap(h))
				}
				w := get(t, h)
				if h := w.Header(); (w.Code == http.StatusServiceUnavailable) != (h.Get("Retry-After") == "1") || tt.silent && h.Get("RateLimit") != "" {
					t.Errorf("got status %d and %v", w.Code, h)
				}
				var got map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !reflect.DeepEqual(got, tt.want) || float64(w.Code) != tt.want["status"] {
					t.Errorf("got %d, %v (%v)\nwant %v", w.Code, w.Body, err, tt.want)
				}
				for _, th := range []*throttle.Throttle{inner, outer} {
					equals(t, books(th), "1 "+tt.counted, "counted")
				}
			})
		}
	}
}

// problem returns the body of a response.
func problem(kind, title string, status float64, violated ...any) map[string]any {
	body := map[string]any{"title": title, "status": status}
	if kind != "" {
		body["type"] = kind
	}
	if violated != nil {
		body["violated-policies"] = violated
	}
	return body
}
