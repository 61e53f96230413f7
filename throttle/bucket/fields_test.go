package bucket_test

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestADeadlineIsNoSuccess: a middleware whose context has a deadline of the server's answers 200.
func TestADeadlineIsNoSuccess(t *testing.T) {
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
	})
}

func header(t *testing.T, c bucket.Config) http.Header {
	t.Helper()
	l := limiter(t, c)
	w := httptest.NewRecorder()
	bucket.Middleware(l, bucket.MiddlewareConfig{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w.Result().Header
}

// TestThePolicyTellsNoRemaining: nothing is known of what is left when the policy has decided.
func TestThePolicyTellsNoRemaining(t *testing.T) {
	store := newRemote()
	store.set(nil, errDown)
	if got := header(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100)}).Get("RateLimit"); strings.Contains(got, "r=0") {
		t.Errorf("a request that FailOpen has served: RateLimit: %s", got)
	}
}

// TestThePolicyFieldIsTheLimit: q tokens in w seconds.
func TestThePolicyFieldIsTheLimit(t *testing.T) {
	if got, want := header(t, bucket.Config{Limit: bucket.Limit{Capacity: 100, Refill: 1, Period: time.Second}}).Get("RateLimit-Policy"), `"test";q=100;w=100`; got != want {
		t.Errorf("one per second, 100 at once: %s tells of 100 per second, want %s", got, want)
	}
}

// TestIntegersOfStructuredFields: integers of structured fields have 15 digits at most.
func TestIntegersOfStructuredFields(t *testing.T) {
	h := header(t, bucket.Config{Limit: bucket.Limit{Capacity: math.MaxInt64, Algorithm: bucket.Fixed}})
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		for _, p := range strings.Split(h.Get(name), ";")[1:] {
			if _, digits, _ := strings.Cut(p, "="); len(digits) > 15 {
				t.Errorf("%s: %s: want at most 15 digits", name, h.Get(name))
			}
		}
	}
}

// TestTwoLimitsTellOfBoth: two limits, as of a caller and of all.
func TestTwoLimitsTellOfBoth(t *testing.T) {
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
