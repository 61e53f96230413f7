package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// guarded is a client and a server in memory. Both have a throttle and otelgrpc.
type guarded struct {
	spans   *tracetest.InMemoryExporter
	tracers *sdktrace.TracerProvider
	client  *grpcthrottle.Client
	health  grpc_health_v1.HealthClient
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{spans: tracetest.NewInMemoryExporter()}
	g.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(g.spans))
	hooks := throttle.Must(otelthrottle.New(otelthrottle.WithTracerProvider(g.tracers))).Hooks()
	config := func(name string) throttle.Config {
		return throttle.Config{Name: name, Hooks: hooks, Rand: func() float64 { return 0 }} // sheds every call whose probability is above 0
	}
	stats := []otelgrpc.Option{otelgrpc.WithTracerProvider(g.tracers), otelgrpc.WithPropagators(propagation.TraceContext{})}
	guard := throttle.Must(grpcthrottle.NewServer(grpcthrottle.ServerConfig{
		Throttle: config("shop"),
		Trust:    throttle.Trust{Default: throttle.Low},
		Exempt:   func(context.Context, grpcthrottle.RPC) bool { return false }, // the test calls the health service
	}))
	server := grpc.NewServer(append(guard.ServerOptions(), grpc.StatsHandler(otelgrpc.NewServerHandler(stats...)))...)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	listener := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	g.client = throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: config("backends")}))
	conn := throttle.Must(grpc.NewClient("passthrough:///shop", append(g.client.DialOptions(),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(stats...)),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
	)...))
	t.Cleanup(func() { _ = conn.Close() })
	g.health = grpc_health_v1.NewHealthClient(conn)
	return g
}

func (g *guarded) check(t *testing.T, atLeast int) (spans []string, err error) {
	t.Helper()
	g.spans.Reset()
	ctx, root := g.tracers.Tracer("test").Start(t.Context(), "root")
	_, err = g.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	root.End()
	program.Eventually(t, "the spans of a call", func() string {
		if spans = paths(g.spans.GetSpans()); len(spans) < atLeast {
			return fmt.Sprintf("got %q want %d", spans, atLeast)
		}
		return ""
	})
	return spans, err
}

func TestOtelgrpc_Spans(t *testing.T) {
	g := newGuarded(t)
	const check = "grpc.health.v1.Health/Check"
	want := []string{
		"root",
		"root > throttle backends",
		"root > throttle backends > " + check,
		"root > throttle backends > " + check + " > " + check,
		"root > throttle backends > " + check + " > " + check + " > throttle shop",
	}
	if got, err := g.check(t, len(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("a call that is served: got error %v and spans %q want %q", err, got, want)
	}
	th := throttle.Must(g.client.Group().Get("passthrough:///shop"))
	for range 100 {
		if call, err := th.Admit(t.Context(), throttle.Medium); err == nil {
			call.Finish(throttle.Rejected)
		}
	}
	if got, err := g.check(t, 1); !errors.Is(err, throttle.ErrShed) || !slices.Equal(got, []string{"root"}) {
		t.Errorf("a call that is shed: got error %v and spans %q want the caller's alone", err, got)
	}
}
