//go:build !race

// Under the race detector a sync.Pool drops some of its values, so allocations are counted without it.

package grpcthrottle_test

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

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

// callsPerRun is the number of calls in one run of AllocsPerRun, which rounds down.
const callsPerRun = 64

func TestAllocations(t *testing.T) {
	client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs(":authority", "shop", "user-agent", "test"))
	clientUnary, clientStream := client.UnaryInterceptor(), client.StreamInterceptor()
	serverUnary, serverStream := server.UnaryInterceptor(), server.StreamInterceptor()
	unaryInfo, streamInfo := &grpc.UnaryServerInfo{FullMethod: buy}, &grpc.StreamServerInfo{FullMethod: talk}
	ss, opts := &sink{ctx: ctx}, []grpc.CallOption{grpc.StaticMethod()}
	for name, c := range map[string]struct {
		want float64
		call func()
	}{
		"client unary": {1, func() { _ = clientUnary(context.Background(), buy, nil, nil, nil, invoked, opts...) }},
		"client stream": {2, func() {
			s, _ := clientStream(context.Background(), shapes[talk], nil, talk, streamed, opts...)
			_ = s.RecvMsg(nil)
			_ = s.RecvMsg(s)
		}},
		"server unary":  {2, func() { _, _ = serverUnary(ctx, nil, unaryInfo, handled) }},
		"server stream": {2, func() { _ = serverStream(nil, ss, streamInfo, listened) }},
	} {
		got := testing.AllocsPerRun(100, func() {
			for range callsPerRun {
				c.call()
			}
		})
		equal(t, name+": allocations a call", got/callsPerRun, c.want)
	}
}
