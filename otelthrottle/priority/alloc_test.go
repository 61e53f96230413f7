package priority_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

// TestAllocations bounds those of the ways that requests take day by day.
func TestAllocations(t *testing.T) {
	handler := priority.Middleware(trusting)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	transport := priority.NewTransport(roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil }), everywhere)
	receive := func(r *http.Request) { handler.ServeHTTP(nil, r) }
	send := func(r *http.Request) { _, _ = transport.RoundTrip(r) } //nolint:bodyclose // there is none
	const said = "tenant=7,throttle.priority=medium"
	plain := context.Background()
	medium := func(baggage string) context.Context { return throttle.WithPriority(carrying(baggage), throttle.Medium) }
	for _, tt := range []struct {
		name    string
		most    float64
		way     func(*http.Request)
		ctx     context.Context
		baggage string
	}{
		{"receive none", 3, receive, plain, ""},
		{"receive inside", 3, receive, carrying(said), said},
		{"receive alone", 16, receive, plain, said},
		{"send without", 0, send, plain, ""},
		{"send what is there", 1, send, medium(said), said},
		{"send what is new", 18, send, medium("tenant=7"), "tenant=7"},
	} {
		r := httptest.NewRequestWithContext(tt.ctx, http.MethodGet, "/", http.NoBody)
		if tt.baggage != "" {
			r.Header.Set("Baggage", tt.baggage)
		}
		if got := testing.AllocsPerRun(100, func() { tt.way(r) }); got > tt.most {
			t.Errorf("%s: got %v allocations want at most %v", tt.name, got, tt.most)
		}
	}
}
