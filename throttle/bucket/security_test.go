package bucket_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestMiddleware_DoesNotShowKeys uses a name that contains a header, and secret keys. No response
// contains them.
func TestMiddleware_DoesNotShowKeys(t *testing.T) {
	backing := newRemote()
	l := limiter(t, bucket.Config{
		Name: "a\"b\\\r\nSet-Cookie: owned=1\r\n\r\n<script>\x00\xff", Store: backing, OnFailure: bucket.FailClosed,
		Limit: bucket.Every(time.Hour), StoreTimeout: time.Minute,
	})
	handler := bucket.Middleware(l, bucket.MiddlewareConfig{
		Key: func(r *http.Request) string { return "secret " + r.URL.Path }, Cost: func(r *http.Request) int64 { return r.ContentLength },
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	seen := map[int]bool{}
	for _, cost := range []string{"a", "a", "aa", ""} {
		if cost == "" {
			backing.set(nil, errDown)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/<script>", strings.NewReader(cost))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		seen[w.Code] = true
		for _, word := range []string{"secret", "down"} {
			if text := fmt.Sprint(w.Result().Header, w.Body); strings.Contains(text, word) {
				t.Errorf("status %d: got %s, with %q in it", w.Code, text, word)
			}
		}
		for name, values := range w.Result().Header {
			if text := strings.Join(values, ""); strings.ContainsAny(text, "\r\n\x00") || strings.Contains(text, "\xff") {
				t.Errorf("status %d: got %s: %q, which is no field", w.Code, name, text)
			}
		}
	}
	for _, status := range []int{http.StatusOK, http.StatusTooManyRequests, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable} {
		if !seen[status] {
			t.Errorf("got statuses %v want %d among them", seen, status)
		}
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryStore_MemoryOfLongKeys uses long keys, and keys that are part of a longer string,
// which must not be kept.
func TestMemoryStore_MemoryOfLongKeys(t *testing.T) {
	const keys, length, bound = 100, 64 << 10, 2 << 20
	for name, part := range map[string]int{"long": length, "parts": 16} {
		for asked, l := range map[string]*bucket.Limiter{
			"the store":  limiter(t, bucket.Config{Limit: bucket.Per(10, 24*time.Hour)}),
			"LocalShare": limiter(t, bucket.Config{Store: newFailing(), Limit: bucket.Per(10, 24*time.Hour)}),
		} {
			before := heap()
			for i := range keys {
				if d, err := l.Decide(t.Context(), strings.Repeat(fmt.Sprintf("%08d", i), length/8)[:part]); err != nil || !d.Allowed {
					t.Fatalf("%s keys, %s: got %+v, %v want a token", name, asked, d, err)
				}
			}
			if got := int64(heap()) - int64(before); got > bound {
				t.Errorf("%s keys, %s: %d buckets take %d bytes want at most %d", name, asked, keys, got, bound)
			}
			runtime.KeepAlive(l)
		}
	}
}
