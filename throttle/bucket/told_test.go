package bucket_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestMiddlewareTellsThoseAround what a refusal means, however deep they are.
func TestMiddlewareTellsThoseAround(t *testing.T) {
	store := newRemote()
	store.set(nil, errDown)
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
		{"too many", empty, 2, http.StatusRequestEntityTooLarge, bucket.ErrExceedsCapacity},
		{"served", limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}), 1, http.StatusNoContent, nil},
	} {
		h := bucket.Middleware(tt.l, bucket.MiddlewareConfig{Cost: func(*http.Request) int64 { return tt.cost }})(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		outer := &listener{ResponseWriter: newAnswer()}
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

// listener is the writer of a middleware outside, which is told what an answer means.
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

// answer is the server's own writer.
type answer struct{ header http.Header }

func newAnswer() *answer                         { return &answer{http.Header{}} }
func (a *answer) Header() http.Header            { return a.header }
func (a *answer) Write(text []byte) (int, error) { return len(text), nil }
func (a *answer) WriteHeader(int)                {}
