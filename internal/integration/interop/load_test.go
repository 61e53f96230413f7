package interop

import (
	"context"
	"sync"
	"testing"

	v3orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// everyLoad is a balancer that keeps the load report of each call, as the parser of grpc-go reads it.
type everyLoad struct {
	mu      sync.Mutex
	reports []*v3orcapb.OrcaLoadReport
}

func (l *everyLoad) Build(info base.PickerBuildInfo) balancer.Picker {
	for conn := range info.ReadySCs {
		return loadPicker{conn, l}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type loadPicker struct {
	conn balancer.SubConn
	*everyLoad
}

func (p loadPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p.conn, Done: func(info balancer.DoneInfo) {
		report, _ := info.ServerLoad.(*v3orcapb.OrcaLoadReport)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reports = append(p.reports, report)
	}}, nil
}

// TestLoadReport_balancer lets a balancer of grpc-go read our reports.
func TestLoadReport_balancer(t *testing.T) {
	server := throttle.Must(grpcthrottle.NewServer(grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Name: "interop", Rand: func() float64 { return 0 }},
		Tell:     func(context.Context, grpcthrottle.RPC) bool { return true },
		Key:      func(context.Context, grpcthrottle.RPC) string { return "" },
	}))
	p := pairing{}.open(t, emptyServer{}, server.ServerOptions()...)
	loads := &everyLoad{}
	balancer.Register(base.NewBalancerBuilder("spillway_every_load", loads, base.Config{}))
	p.options = append(p.options, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"spillway_every_load": {}}]}`))
	client := testgrpc.NewTestServiceClient(p.dial(t))
	call := func() error {
		_, err := client.EmptyCall(t.Context(), &testgrpc.Empty{})
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	for _, th := range server.Group().All() {
		for range 200 {
			_ = th.Do(t.Context(), throttle.Medium, func(context.Context) error { return throttle.MarkOverloaded(context.DeadlineExceeded) })
		}
	}
	if call() == nil {
		t.Fatal("got a call that was served, want it shed")
	}
	if len(loads.reports) != 2 || loads.reports[0] == nil || loads.reports[1] == nil {
		t.Fatalf("got reports %v, want two", loads.reports)
	}
	calm, full := loads.reports[0], loads.reports[1]
	if got, ok := calm.NamedMetrics["spillway.overloaded"]; !ok || got != 0 || calm.ApplicationUtilization != 0 || len(calm.NamedMetrics) != 1 {
		t.Errorf("calm: got %v", calm)
	}
	if full.NamedMetrics["spillway.overloaded"] != 1 || full.NamedMetrics["spillway.shed.medium"] < 0.5 || full.ApplicationUtilization <= 1 {
		t.Errorf("overloaded: got %v", full)
	}
}

// TestLoadReport_recorder reads a report that grpc-go has sent.
func TestLoadReport_recorder(t *testing.T) {
	p := pairing{client: true}.open(t, emptyServer{overloaded: true})
	if _, err := p.tests().EmptyCall(t.Context(), &testgrpc.Empty{}); err != nil {
		t.Fatal(err)
	}
	for _, th := range p.client.Group().All() {
		if s := th.Stats(); !s.Received.Overloaded || s.Priorities[throttle.Medium].Told == 0 || s.Priorities[throttle.High].Told > 0 {
			t.Errorf("got %+v, told %v", s.Received, s.Priorities[throttle.Medium].Told)
		}
	}
}

// emptyServer answers an empty call, and may say that it sheds calls of Medium.
type emptyServer struct {
	testgrpc.UnimplementedTestServiceServer

	overloaded bool
}

func (s emptyServer) EmptyCall(ctx context.Context, _ *testgrpc.Empty) (*testgrpc.Empty, error) {
	if s.overloaded {
		recorder := orca.CallMetricsRecorderFromContext(ctx)
		recorder.SetNamedMetric("spillway.overloaded", 1)
		recorder.SetNamedMetric("spillway.shed.medium", 0.5)
		recorder.SetNamedMetric("queue", 17)
		recorder.SetCPUUtilization(0.7)
	}
	return &testgrpc.Empty{}, nil
}
