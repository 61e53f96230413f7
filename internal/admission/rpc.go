package main

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// The one method of the servers of gRPC and Connect.
const (
	rpcService = "spillway.Admission"
	rpcMethod  = "Work"
	procedure  = "/" + rpcService + "/" + rpcMethod
)

func serveGRPC(subject string, w *worker) (func(net.Listener) error, error) {
	var options []grpc.ServerOption
	if subject == subjectOurs {
		guard, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
			Throttle: throttle.Config{Name: "admission"},
			Priority: func(ctx context.Context, _ grpcthrottle.RPC) throttle.Priority { return priorityOfGRPC(ctx) },
		})
		if err != nil {
			return nil, err
		}
		options = guard.ServerOptions()
	}
	s := grpc.NewServer(options...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: rpcService,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: rpcMethod, Handler: handleGRPC}},
	}, w)
	return s.Serve, nil
}

// handleGRPC does by hand what generated code does for a unary method.
func handleGRPC(server any, ctx context.Context, decode func(any) error, guard grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the signature is that of gRPC
	in := new(emptypb.Empty)
	if err := decode(in); err != nil {
		return nil, err
	}
	handler := func(ctx context.Context, _ any) (any, error) {
		server.(*worker).do(priorityOfGRPC(ctx))
		return new(emptypb.Empty), nil
	}
	if guard == nil {
		return handler(ctx, in)
	}
	return guard(ctx, in, &grpc.UnaryServerInfo{Server: server, FullMethod: procedure}, handler)
}

func priorityOfGRPC(ctx context.Context) throttle.Priority {
	words := metadata.ValueFromIncomingContext(ctx, priorityHeader)
	if len(words) == 0 {
		return throttle.Low
	}
	return parsePriority(words[0])
}

func serveConnect(subject string, w *worker) (func(net.Listener) error, error) {
	var options []connect.HandlerOption
	if subject == subjectOurs {
		guard, err := connectthrottle.NewServer(connectthrottle.ServerConfig{
			Throttle: throttle.Config{Name: "admission"},
			Trust:    throttle.Trust{Peer: func(context.Context) bool { return true }}, // Priority does not see the header
		})
		if err != nil {
			return nil, err
		}
		options = append(options, connect.WithInterceptors(guard.Interceptor()))
	}
	mux := http.NewServeMux()
	mux.Handle(procedure, connect.NewUnaryHandler(procedure,
		func(_ context.Context, r *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
			w.do(parsePriority(r.Header().Get(connectthrottle.PriorityHeader)))
			return connect.NewResponse(new(emptypb.Empty)), nil
		}, options...))
	return httpServer(mux).Serve, nil
}

// grpcCaller uses the connections of the shape in turn.
func grpcCaller(s shape, address string) (caller, func(), error) {
	var connections []*grpc.ClientConn
	closeAll := func() {
		for _, c := range connections {
			c.Close()
		}
	}
	for range s.Connections {
		c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		connections = append(connections, c)
	}
	var turn atomic.Uint64
	call := func(ctx context.Context, p throttle.Priority) outcome {
		c := connections[turn.Add(1)%uint64(len(connections))]
		ctx = metadata.AppendToOutgoingContext(ctx, priorityHeader, p.String())
		return outcomeOfRPC(status.Code(c.Invoke(ctx, procedure, new(emptypb.Empty), new(emptypb.Empty))))
	}
	return call, closeAll, nil
}

func outcomeOfRPC(code codes.Code) outcome {
	switch code {
	case codes.OK:
		return good
	case codes.Unavailable:
		return shed
	case codes.DeadlineExceeded, codes.Canceled:
		return late
	default:
		return failed
	}
}

func connectCaller(s shape, address string) (caller, func(), error) {
	transport := newTransport(s)
	client := connect.NewClient[emptypb.Empty, emptypb.Empty](&http.Client{Transport: transport}, "http://"+address+procedure)
	call := func(ctx context.Context, p throttle.Priority) outcome {
		request := connect.NewRequest(new(emptypb.Empty))
		request.Header().Set(connectthrottle.PriorityHeader, p.String())
		if _, err := client.CallUnary(ctx, request); err != nil {
			return outcomeOfRPC(codes.Code(connect.CodeOf(err))) // Connect has the codes of gRPC
		}
		return good
	}
	return call, transport.CloseIdleConnections, nil
}
