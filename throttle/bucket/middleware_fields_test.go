package bucket_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

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
					if reset != 0 {
						t.Errorf("%v: a full bucket has t=%d want 0", limit, reset)
					}
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

// TestMiddleware_RetryAfter checks that Retry-After is never before the end of t, also for costs of
// several tokens.
func TestMiddleware_RetryAfter(t *testing.T) {
	for _, limit := range []bucket.Limit{
		bucket.PerSecond(10).WithBurst(20),
		bucket.Per(7, 20*time.Second),
		{Capacity: 5, Period: time.Minute, Algorithm: bucket.Fixed},
	} {
		synctest.Test(t, func(t *testing.T) {
			denied := 0
			l := limiter(t, bucket.Config{Limit: limit})
			for i := range 100 {
				cost := int64(i)%limit.Capacity + 1
				w := get(t, costing(l, cost))
				time.Sleep(70 * time.Millisecond)
				if w.Code != http.StatusTooManyRequests {
					continue
				}
				denied++
				_, reset := rateLimitOf(t, w.Header())
				if retry, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64); err != nil || retry < reset {
					t.Fatalf("%v, cost %d: got Retry-After %d (%v) before t=%d", limit, cost, retry, err, reset)
				}
			}
			if denied < 10 {
				t.Errorf("%v: %d of 100 were denied: want at least 10", limit, denied)
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
