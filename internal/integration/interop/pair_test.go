package interop

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// pair is a client and a server over TCP. At least one has a throttle.
type pair struct {
	client  *grpcthrottle.Client // nil: the stock client
	server  *grpcthrottle.Server // nil: the stock server
	address string
	options []grpc.DialOption
	conn    *grpc.ClientConn
}

// pairing selects which sides have a throttle, and with which config.
type pairing struct {
	client, server bool
	config         throttle.Config
}

var pairings = map[string]pairing{"client": {client: true}, "server": {server: true}, "both": {client: true, server: true}}

// open serves a test service, by default with the load reports of grpc-go. It stops with the test.
func (p pairing) open(t *testing.T, service testgrpc.TestServiceServer, more ...grpc.ServerOption) *pair {
	t.Helper()
	var opened pair
	serverOptions := more
	if len(more) == 0 {
		serverOptions = []grpc.ServerOption{orca.CallMetricsServerOption(nil)}
	}
	if p.server {
		p.config.Name = "interop"
		opened.server = throttle.Must(grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: p.config}))
		serverOptions = append(serverOptions, opened.server.ServerOptions()...)
	}
	server := grpc.NewServer(serverOptions...)
	testgrpc.RegisterTestServiceServer(server, service)
	listener := throttle.Must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	opened.address = listener.Addr().String()
	opened.options = []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"test_backend_metrics_load_balancer": {}}]}`),
	}
	if p.client {
		p.config.Name = "backends"
		opened.client = throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{
			Throttle: p.config, Listen: func(context.Context, grpcthrottle.RPC) bool { return true },
		}))
		opened.options = append(opened.options, opened.client.DialOptions()...)
	}
	opened.conn = opened.dial(t)
	return &opened
}

func (p *pair) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn := throttle.Must(grpc.NewClient(p.address, p.options...))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (p *pair) tests() testgrpc.TestServiceClient { return testgrpc.NewTestServiceClient(p.conn) }

// tally is the number of calls of a client or a server.
type tally struct {
	accepted, rejected, ignored, shed uint64
	inFlight                          int64
}

func tallyOf(g *throttle.Group) (n tally) {
	for _, th := range g.All() {
		for _, p := range th.Stats().Priorities {
			n.accepted += p.Ended.Outcome(throttle.Accepted)
			n.rejected += p.Ended.Outcome(throttle.Rejected)
			n.ignored += p.Ended.Outcome(throttle.Ignored)
			n.shed += p.Shed.Sum()
			n.inFlight += p.InFlight
		}
	}
	return n
}
