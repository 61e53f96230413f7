package priority_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

// frontends is the key of the mark on requests that came in where only frontends can call.
type frontends struct{}

// A browser calls a frontend, which calls a backend. The frontend trusts no sender and decides for itself, the backend
// trusts the frontends, up to important.
func Example() {
	backend := httptest.NewUnstartedServer(priority.Middleware(throttle.Trust{
		Peer:    func(ctx context.Context) bool { return ctx.Value(frontends{}) != nil },
		Ceiling: throttle.Important,
		Default: throttle.Low,
	})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "backend:", throttle.PriorityFromContext(r.Context(), throttle.Low))
	})))
	backend.Config.BaseContext = func(net.Listener) context.Context { // a listener that only frontends reach
		return context.WithValue(context.Background(), frontends{}, true)
	}
	backend.Start()
	defer backend.Close()

	client := &http.Client{Transport: priority.NewTransport(nil, func(r *http.Request) bool {
		return "http://"+r.URL.Host == backend.URL // no other host learns the priority of our calls
	})}
	public := priority.Middleware(throttle.Trust{})
	frontend := httptest.NewServer(public(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if r.URL.Path == "/checkout" {
			ctx = throttle.WithPriority(ctx, throttle.High)
		}
		fmt.Fprintln(w, "frontend:", throttle.PriorityFromContext(ctx, throttle.Low))
		fmt.Fprint(w, fetch(ctx, client, backend.URL, ""))
	})))
	defer frontend.Close()

	const cheat = "throttle.priority=high"
	fmt.Print(fetch(context.Background(), http.DefaultClient, frontend.URL+"/browse", cheat))
	fmt.Print(fetch(context.Background(), http.DefaultClient, frontend.URL+"/checkout", ""))
	// Output:
	// frontend: medium
	// backend: medium
	// frontend: high
	// backend: important
}

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

func fetch(ctx context.Context, client *http.Client, address, baggage string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err.Error()
	}
	if baggage != "" {
		r.Header.Set("Baggage", baggage)
	}
	response, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	var text strings.Builder
	_, _ = io.Copy(&text, response.Body)
	return text.String()
}

// For transports other than HTTP, a propagator extracts the baggage, and the code calls Accept and Inject.
func ExampleAccept() {
	trust := throttle.Trust{
		Peer:    func(context.Context) bool { return true }, // for example, a client certificate of ours
		Ceiling: throttle.Important,
		Default: throttle.Low,
	}
	for _, said := range []string{"throttle.priority=medium", "throttle.priority=high", "throttle.priority=urgent", "tenant=7"} {
		ctx := propagation.Baggage{}.Extract(context.Background(), propagation.MapCarrier{"baggage": said})
		ctx = priority.Accept(ctx, trust)
		fmt.Printf("%-24s is %v\n", said, throttle.PriorityFromContext(ctx, throttle.Low))
	}
	// Output:
	// throttle.priority=medium is medium
	// throttle.priority=high   is important
	// throttle.priority=urgent is low
	// tenant=7                 is low
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
