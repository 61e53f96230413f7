//go:build !race

// Under the race detector a sync.Pool drops some of its values, so allocations are counted without it.

package httpthrottle_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// A path is one kind of request, with the allocations that the package adds to it.
type path struct {
	name       string
	allocs     float64
	bare, ours func()
}

type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }
func (empty) Close() error             { return nil }

type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Flush()                      {}

func paths(t testing.TB) []path {
	response := &http.Response{StatusCode: http.StatusOK}
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		response.Body = empty{}
		return response, nil
	})
	calm := []string{calmLoad}
	exchange := func(transport http.RoundTripper, r *http.Request) func() {
		return func() {
			response, err := transport.RoundTrip(r)
			if err == nil {
				_, _ = response.Body.Read(nil)
				_ = response.Body.Close()
			}
		}
	}
	said := request(throttle.WithPriority(context.Background(), throttle.Low), http.MethodGet, http.NoBody)
	hooks := throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context { return ctx }}
	everywhere := func(*http.Request) bool { return true }
	refusing := newTransport(t, base, httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, refusing, host))

	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) })
	server := func(h http.Handler, r *http.Request) func() {
		w := http.ResponseWriter(nowhere{http.Header{}})
		return func() { h.ServeHTTP(w, r) }
	}
	throttled := httpthrottle.Middleware(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{})(handler)
	plain := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	known := plain.WithContext(throttle.WithPriority(context.Background(), throttle.Low))
	telling := httpthrottle.Middleware(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{Trust: trusting(true)})(handler)
	reporting := roundTrip(func(*http.Request) (*http.Response, error) {
		response.Body, response.Header = empty{}, http.Header{protocol.LoadHeader: calm}
		return response, nil
	})
	return []path{
		{"client/plain", 1, exchange(base, get(context.Background())), exchange(newTransport(t, base, httpthrottle.TransportConfig{}), get(context.Background()))},
		{"client/hook", 1, exchange(base, said), exchange(newTransport(t, base, httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: hooks}}), said)},
		{"client/sent", 5, exchange(base, said), exchange(newTransport(t, base, httpthrottle.TransportConfig{Send: everywhere}), said)},
		{"client/shed", 0, func() {}, exchange(refusing, get(context.Background()))},
		{"client/listening", 1, exchange(reporting, get(context.Background())), exchange(newTransport(t, reporting, httpthrottle.TransportConfig{Listen: everywhere}), get(context.Background()))},
		{"server/telling", 3, server(handler, plain), server(telling, plain)},
		{"server/plain", 3, server(handler, plain), server(throttled, plain)},
		{"server/known", 2, server(handler, known), server(throttled, known)},
	}
}

func TestAllocations(t *testing.T) {
	for _, p := range paths(t) {
		got := testing.AllocsPerRun(1000, p.ours) - testing.AllocsPerRun(1000, p.bare)
		equal(t, p.name, got, p.allocs)
	}
}
