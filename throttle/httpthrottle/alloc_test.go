//go:build !race

// Under the race detector a sync.Pool drops some of its values, so allocations are counted without it.

package httpthrottle_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Flush()                      {}

// TestAllocations counts what the package adds to a request.
func TestAllocations(t *testing.T) {
	response := &http.Response{StatusCode: http.StatusOK}
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		response.Body = broken{io.EOF}
		return response, nil
	})
	exchange := func(transport http.RoundTripper) func() {
		r := get(context.Background())
		return func() {
			response, err := transport.RoundTrip(r)
			if err == nil {
				_, _ = response.Body.Read(nil)
				_ = response.Body.Close()
			}
		}
	}
	refusing := newTransport(t, base, httpthrottle.TransportConfig{Throttle: throttle.Config{Rand: unlucky}})
	overload(t, throttleOf(t, refusing, host))

	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) })
	server := func(h http.Handler) func() {
		w, r := http.ResponseWriter(nowhere{http.Header{}}), incoming(context.Background())
		return func() { h.ServeHTTP(w, r) }
	}
	throttled := httpthrottle.Middleware(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{})(handler)
	telling := httpthrottle.Middleware(newThrottle(t, throttle.Config{}), httpthrottle.MiddlewareConfig{Trust: trusting(true)})(handler)
	for _, p := range []struct {
		name       string
		allocs     float64
		bare, ours func()
	}{
		{"client/plain", 1, exchange(base), exchange(newTransport(t, base, httpthrottle.TransportConfig{}))},
		{"client/shed", 0, func() {}, exchange(refusing)},
		{"server/telling", 3, server(handler), server(telling)},
		{"server/plain", 3, server(handler), server(throttled)},
	} {
		got := testing.AllocsPerRun(1000, p.ours) - testing.AllocsPerRun(1000, p.bare)
		equal(t, p.name, got, p.allocs)
	}
}
