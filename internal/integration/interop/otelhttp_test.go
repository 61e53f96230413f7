package interop

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// Example_otelhttp puts otelhttp inside the transport and outside the middleware.
func Example_otelhttp() {
	tel := throttle.Must(otelthrottle.New())
	backends := throttle.Config{Name: "backends", Hooks: tel.Hooks()}
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop", Hooks: tel.Hooks()}))
	mux := http.NewServeMux()

	transport := throttle.Must(httpthrottle.NewTransport(
		otelhttp.NewTransport(http.DefaultTransport), // a span for each request that is sent, inside the throttle's span
		httpthrottle.TransportConfig{Throttle: backends},
	))
	serve := httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})
	handler := otelhttp.NewHandler(serve(mux), "shop") // a span for each answer, shed requests too

	server := httptest.NewServer(handler)
	defer server.Close()
	response := throttle.Must((&http.Client{Transport: transport}).Get(server.URL))
	defer response.Body.Close()
	fmt.Println(response.StatusCode)
	// Output:
	// 404
}

// spansOf makes a request in a span and returns the ended spans as paths from their root.
func spansOf(t *testing.T, draw float64, requests int) []string {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tel := throttle.Must(otelthrottle.New(otelthrottle.WithTracerProvider(tracers)))
	config := func(name string) throttle.Config {
		return throttle.Config{Name: name, Hooks: tel.Hooks(), Rand: func() float64 { return draw }}
	}
	busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	serve := httpthrottle.Middleware(throttle.Must(throttle.New(config("shop"))), httpthrottle.MiddlewareConfig{})
	server := httptest.NewServer(otelhttp.NewHandler(serve(busy), "shop", otelhttp.WithTracerProvider(tracers),
		otelhttp.WithSpanNameFormatter(func(string, *http.Request) string { return "server" })))
	defer server.Close()
	transport := throttle.Must(httpthrottle.NewTransport(otelhttp.NewTransport(&http.Transport{DisableKeepAlives: true}, otelhttp.WithTracerProvider(tracers),
		otelhttp.WithSpanNameFormatter(func(string, *http.Request) string { return "client" })), httpthrottle.TransportConfig{Throttle: config("backends")}))
	for range requests {
		exporter.Reset()
		ctx, root := tracers.Tracer("test").Start(t.Context(), "root")
		r := throttle.Must(http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody))
		if response, err := transport.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
		root.End()
	}
	return paths(exporter.GetSpans())
}

// paths returns the names of spans from their root, sorted.
func paths(spans tracetest.SpanStubs) []string {
	byID := map[string]tracetest.SpanStub{}
	for _, s := range spans {
		byID[s.SpanContext.SpanID().String()] = s
	}
	var all []string
	for _, s := range spans {
		names := []string{s.Name}
		for parent, ok := byID[s.Parent.SpanID().String()]; ok; parent, ok = byID[parent.Parent.SpanID().String()] {
			names = append([]string{parent.Name}, names...)
		}
		all = append(all, strings.Join(names, " > "))
	}
	slices.Sort(all)
	return all
}

func TestOtelhttp_Spans(t *testing.T) {
	// The server's spans are roots: no propagator is set here.
	got := spansOf(t, 1-1e-9, 1)
	want := []string{
		"root", "root > throttle backends", "root > throttle backends > client",
		"server", "server > throttle shop",
	}
	if !slices.Equal(got, want) {
		t.Errorf("a request that is served: got spans %q want %q", got, want)
	}
	got = spansOf(t, 0, 100) // rejected until both throttles shed at their highest probability
	if want := []string{"root"}; !slices.Equal(got, want) {
		t.Errorf("a request that is shed in the client: got spans %q want %q", got, want)
	}
}
