package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// moody is a memory store that fails if err is set.
type moody struct {
	*MemoryStore

	err error
}

func (s *moody) Take(ctx context.Context, r store.Request) (Decision, error) {
	if s.err != nil {
		return Decision{}, s.err
	}
	return s.MemoryStore.Take(ctx, r)
}

// TestMiddleware_DoesNotShowKeys uses a name that contains a header, and secret keys. No response
// contains them.
func TestMiddleware_DoesNotShowKeys(t *testing.T) {
	backing := &moody{MemoryStore: NewMemoryStore()}
	l, err := New(Config{
		Name: "a\"b\\\r\nSet-Cookie: owned=1\r\n\r\n<script>\x00\xff", Store: backing, OnFailure: FailClosed, OneByOne: true,
		Limit: Limit{Capacity: 1, Period: time.Hour}, StoreTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := Middleware(l, MiddlewareConfig{
		Key: func(r *http.Request) string { return "secret " + r.URL.Path }, Cost: func(r *http.Request) int64 { return r.ContentLength },
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	seen := map[int]bool{}
	for _, cost := range []string{"a", "a", "aa", ""} {
		if cost == "" {
			backing.err = errors.New("down")
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

// TestMemoryStore_ForgetsUnusedKeys checks that the memory store removes full buckets when their
// number has doubled, and keeps the others.
func TestMemoryStore_ForgetsUnusedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryStore()
		take := func(key string, l Limit) bool {
			d, err := s.Take(context.Background(), store.Request{Key: key, Limit: l, Min: 1, Max: 1})
			if err != nil {
				t.Fatal(err)
			}
			return d.Allowed
		}
		slow, fixed := Every(time.Hour), Limit{Capacity: 1, Refill: 1, Period: time.Hour, Algorithm: Fixed}
		take("slow", slow)
		take("fixed", fixed)
		const seconds, each, most = 15, 1000, memoryShards * minSweep
		for second := range seconds {
			for i := range each {
				take(fmt.Sprint(second, "/", i), Every(time.Second))
			}
			time.Sleep(time.Second)
		}
		got := 0
		for i := range s.shards {
			got += s.shards[i].size
		}
		if got > most+2*each {
			t.Errorf("after %d keys: got %d buckets in memory want at most %d", seconds*each, got, most+2*each)
		}
		if take("slow", slow) || take("fixed", fixed) {
			t.Error("a bucket that was not full was forgotten")
		}
	})
}
