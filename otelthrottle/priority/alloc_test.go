package priority_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

// A path is one way of a request through the package, and what it may allocate.
type path struct {
	name   string
	allocs float64
	run    func()
}

// paths returns the ways that requests take day by day.
func paths() []path {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	handler := priority.Middleware(trusting)(nothing)
	transport := priority.NewTransport(roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil }), everywhere)
	receive := func(ctx context.Context, baggage string) func() {
		r := request(ctx, baggage)
		return func() { handler.ServeHTTP(nil, r) }
	}
	send := func(ctx context.Context, baggage string) func() {
		r := request(ctx, baggage)
		return func() { _, _ = transport.RoundTrip(r) } //nolint:bodyclose // there is none
	}
	const said = "tenant=7,throttle.priority=medium"
	medium := func(baggage string) context.Context { return throttle.WithPriority(carrying(baggage), throttle.Medium) }
	return []path{
		{"receive/none", 3, receive(context.Background(), "")},
		{"receive/inside", 3, receive(carrying(said), said)},
		{"receive/alone", 16, receive(context.Background(), said)},
		{"send/without", 0, send(context.Background(), "")},
		{"send/said", 1, send(medium(said), said)},
		{"send/new", 18, send(medium("tenant=7"), "tenant=7")},
	}
}

// request returns a request with that baggage header, if any.
func request(ctx context.Context, baggage string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if baggage != "" {
		r.Header.Set("Baggage", baggage)
	}
	return r
}

func TestEachWayAllocatesNoMoreThanTold(t *testing.T) {
	for _, p := range paths() {
		if got := testing.AllocsPerRun(100, p.run); got > p.allocs {
			t.Errorf("%s: got %v allocations want at most %v", p.name, got, p.allocs)
		}
	}
}
