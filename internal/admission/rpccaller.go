package main

import (
	"context"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

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
		return outcomeOfGRPC(c.Invoke(ctx, procedure, new(emptypb.Empty), new(emptypb.Empty)))
	}
	return call, closeAll, nil
}

func outcomeOfGRPC(err error) outcome {
	switch status.Code(err) {
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
		_, err := client.CallUnary(ctx, request)
		return outcomeOfConnect(err)
	}
	return call, transport.CloseIdleConnections, nil
}

func outcomeOfConnect(err error) outcome {
	if err == nil {
		return good
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable:
		return shed
	case connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return late
	default:
		return failed
	}
}
