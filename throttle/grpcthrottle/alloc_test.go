//go:build !race

// Under the race detector a sync.Pool drops some of its values, so allocations are counted without it.

package grpcthrottle_test

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// The functions that gRPC calls after the last interceptor, without gRPC.
func invoked(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	return nil
}

func streamed(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return silentClient{}, nil
}

func handled(context.Context, any) (any, error) { return nil, nil }

func listened(_ any, ss grpc.ServerStream) error { return ss.SendMsg(nil) }

type silentClient struct{ grpc.ClientStream }

func (silentClient) RecvMsg(m any) error {
	if m != nil {
		return io.EOF
	}
	return nil
}

type callStream struct{ grpc.ServerTransportStream }

func (callStream) SetTrailer(metadata.MD) error { return nil }

func subjects(tb testing.TB) map[string]func() {
	client, server := newClient(tb, grpcthrottle.ClientConfig{}), newServer(tb, grpcthrottle.ServerConfig{})
	shedding := newClient(tb, grpcthrottle.ClientConfig{Throttle: throttle.Config{Rand: always}})
	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs(":authority", "shop", "user-agent", "test"))
	low := throttle.WithPriority(context.Background(), throttle.Low)
	clientUnary, clientStream := client.UnaryInterceptor(), client.StreamInterceptor()
	serverUnary, serverStream := server.UnaryInterceptor(), server.StreamInterceptor()
	unaryInfo, streamInfo := &grpc.UnaryServerInfo{FullMethod: buy}, &grpc.StreamServerInfo{FullMethod: talk}
	ss := &sink{ctx: ctx}
	_ = shedding.UnaryInterceptor()(low, buy, nil, nil, nil, invoked)
	spoil(tb, member(tb, shedding.Group(), ""), throttle.Low)
	shedUnary := shedding.UnaryInterceptor()
	opts := []grpc.CallOption{grpc.StaticMethod()}
	trusting := newServer(tb, grpcthrottle.ServerConfig{Trust: throttle.Trust{Peer: func(context.Context) bool { return true }}})
	trustedUnary := trusting.UnaryInterceptor()
	named := metadata.NewIncomingContext(grpc.NewContextWithServerTransportStream(context.Background(), callStream{}), metadata.Pairs("user-agent", "test", grpcthrottle.PriorityKey, "low"))
	return map[string]func(){
		"client unary": func() { _ = clientUnary(context.Background(), buy, nil, nil, nil, invoked, opts...) },
		"client shed":  func() { _ = shedUnary(low, buy, nil, nil, nil, invoked, opts...) },
		"client stream": func() {
			s, _ := clientStream(context.Background(), shapes[talk], nil, talk, streamed, opts...)
			_ = s.RecvMsg(nil)
			_ = s.RecvMsg(s)
		},
		"server trusted": func() { _, _ = trustedUnary(named, nil, unaryInfo, handled) },
		"server unary":   func() { _, _ = serverUnary(ctx, nil, unaryInfo, handled) },
		"server stream":  func() { _ = serverStream(nil, ss, streamInfo, listened) },
	}
}

// callsPerRun is the number of calls in one run of AllocsPerRun, which rounds down.
const callsPerRun = 64

func TestAllocations(t *testing.T) {
	want := map[string]float64{"client unary": 1, "client shed": 1, "client stream": 2, "server unary": 2, "server trusted": 3, "server stream": 2}
	for name, call := range subjects(t) {
		got := testing.AllocsPerRun(100, func() {
			for range callsPerRun {
				call()
			}
		})
		if got != want[name]*callsPerRun {
			t.Errorf("%s: got %v allocations a call want %v", name, got/callsPerRun, want[name])
		}
	}
}
