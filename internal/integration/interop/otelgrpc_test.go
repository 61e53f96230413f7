package interop

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// TestOtelgrpc_Spans has a throttle and otelgrpc in the client, and in the server.
func TestOtelgrpc_Spans(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	stats := []otelgrpc.Option{otelgrpc.WithTracerProvider(tracers), otelgrpc.WithPropagators(propagation.TraceContext{})}
	both := pairing{client: true, server: true, config: throttle.Config{
		Hooks: throttle.Must(otelthrottle.New(otelthrottle.WithTracerProvider(tracers))).Hooks(),
		Rand:  func() float64 { return 0 }, // sheds every call whose probability is above 0
	}}
	p := both.open(t, emptyServer{}, grpc.StatsHandler(otelgrpc.NewServerHandler(stats...)))
	p.options = append(p.options, grpc.WithStatsHandler(otelgrpc.NewClientHandler(stats...)))
	client := testgrpc.NewTestServiceClient(p.dial(t))
	call := func(atLeast int) (spans []string, err error) {
		exporter.Reset()
		ctx, root := tracers.Tracer("test").Start(t.Context(), "root")
		_, err = client.EmptyCall(ctx, &testgrpc.Empty{})
		root.End()
		program.Eventually(t, "the spans of a call", func() string {
			if spans = paths(exporter.GetSpans()); len(spans) < atLeast {
				return fmt.Sprintf("got %q want %d", spans, atLeast)
			}
			return ""
		})
		return spans, err
	}
	const method = "grpc.testing.TestService/EmptyCall"
	want := []string{
		"root",
		"root > throttle backends",
		"root > throttle backends > " + method,
		"root > throttle backends > " + method + " > " + method,
		"root > throttle backends > " + method + " > " + method + " > throttle interop",
	}
	if got, err := call(len(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("a call that is served: got error %v and spans %q want %q", err, got, want)
	}
	for _, th := range p.client.Group().All() {
		for range 100 {
			if call, err := th.Admit(t.Context(), throttle.Medium); err == nil {
				call.Finish(throttle.Rejected)
			}
		}
	}
	if got, err := call(1); !errors.Is(err, throttle.ErrShed) || !slices.Equal(got, []string{"root"}) {
		t.Errorf("a call that is shed: got error %v and spans %q want the caller's alone", err, got)
	}
}
