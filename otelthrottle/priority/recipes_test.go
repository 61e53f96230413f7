package priority_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

// Three services in a row: shop, orders and stock. The shop decides, and stock gets its decision. Orders does not use
// Spillway: its OpenTelemetry propagators forward the baggage.
func Example_threeServices() {
	inside := throttle.Trust{
		Peer:    func(context.Context) bool { return true }, // only our services reach this listener
		Ceiling: throttle.High,
		Default: throttle.Low,
	}
	fromOurs := priority.Middleware(inside)
	stock := httptest.NewServer(fromOurs(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, r.URL.Path, "is", throttle.PriorityFromContext(r.Context(), throttle.Low))
	})))
	defer stock.Close()

	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, fetch(r.Context(), http.DefaultClient, stock.URL+r.URL.Path, r.Header.Get("Baggage"))) // as propagators do
	}))
	defer orders.Close()

	toOurs := func(r *http.Request) bool { return "http://"+r.URL.Host == orders.URL }
	client := &http.Client{Transport: priority.NewTransport(nil, toOurs)}
	for path, p := range map[string]throttle.Priority{"/checkout": throttle.High, "/recommendations": throttle.Low} {
		ctx := throttle.WithPriority(context.Background(), p)
		fmt.Print(fetch(ctx, client, orders.URL+path, ""))
	}
	// Unordered output:
	// /checkout is high
	// /recommendations is low
}

// For transports other than HTTP, such as a queue: Inject before the propagator writes the headers of a message.
func ExampleInject() {
	ctx := priority.Inject(throttle.WithPriority(context.Background(), throttle.High))
	fmt.Println(baggage.FromContext(ctx).Member(priority.BaggageKey).Value())

	headers := propagation.MapCarrier{}
	propagation.Baggage{}.Inject(ctx, headers)
	fmt.Println(headers)
	// Output:
	// high
	// map[baggage:throttle.priority=high]
}
