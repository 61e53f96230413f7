package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// late has attempts begin to send their messages when the server has refused them already, if it does.
type late struct{}

func (late) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (late) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (late) HandleConn(context.Context, stats.ConnStats)                       {}
func (late) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutHeader); ok {
		time.Sleep(time.Second)
	}
}

// TestRetriesThatEndWhileTheySend end with an EOF inside of an error without a status, though the server has refused each attempt.
func TestRetriesThatEndWhileTheySend(t *testing.T) {
	down := status.Error(codes.Unavailable, "down")
	for _, kind := range []string{"unary", "stream, told by SendMsg", "stream, told by RecvMsg"} {
		for _, finish := range []bool{true, false} { // whether gRPC tells the end, or an interceptor inside keeps it from telling
			t.Run(fmt.Sprintf("%s, finish %v", kind, finish), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					attempts := 0
					client := newClient(t, grpcthrottle.ClientConfig{})
					options := append(client.DialOptions(), grpc.WithDefaultServiceConfig(retries), grpc.WithStatsHandler(late{}))
					if !finish {
						options = append(options, grpc.WithChainStreamInterceptor(untold))
					}
					p := open(t, &shop{stream: func(_ string, ss grpc.ServerStream) error {
						must(t, ss.RecvMsg(new(text)))
						return down
					}}, []grpc.ServerOption{grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
						if attempts++; attempts == 1 && kind == "stream, told by RecvMsg" {
							return ctx, nil
						}
						return nil, down
					})}, options...)
					var err error
					if kind == "unary" {
						err = p.buy(t.Context())
					} else {
						err = p.sendAndReceive(t)
					}
					if _, known := status.FromError(err); attempts != 4 || known || !errors.Is(errors.Unwrap(err), io.EOF) {
						t.Errorf("got %v after %d attempts want an EOF inside of an error without status, after 4", err, attempts)
					}
					th := member(t, client.Group(), target)
					wants(t, "the end", th, tally{rejected: 1})
					if got := faultsOf(th, throttle.Rejected, throttle.FaultAvailability); got != 1 {
						t.Errorf("got %d that were unavailable want 1: %+v", got, tallyOf(th))
					}
				})
			})
		}
	}
}

// untold keeps gRPC from telling the end of a stream.
func untold(
	ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return streamer(ctx, d, cc, method)
}

// sendAndReceive makes a stream, sends a message and receives one. It returns the first error.
func (p *place) sendAndReceive(t *testing.T) error {
	t.Helper()
	s, err := p.stream(t.Context(), talk)
	must(t, err)
	if err := s.SendMsg(wrapperspb.String("pear")); err != nil {
		return err
	}
	return s.RecvMsg(new(text))
}

// TestAnEndWithAStatusInsideIsThat of the status, whatever is around it.
func TestAnEndWithAStatusInsideIsThat(t *testing.T) {
	for code, want := range map[codes.Code]tally{
		codes.NotFound: {accepted: 1}, codes.ResourceExhausted: {rejected: 1}, codes.Canceled: {ignored: 1},
	} {
		client := newClient(t, grpcthrottle.ClientConfig{})
		own := errors.Join(io.EOF, status.Error(code, "so it is"))
		s, err := client.StreamInterceptor()(t.Context(), shapes[talk], nil, talk,
			func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				return ending{err: own}, nil
			})
		must(t, err)
		if err := s.RecvMsg(new(text)); err != own { //nolint:errorlint // it is handed on as it is
			t.Errorf("%v: got %v want the very error", code, err)
		}
		wants(t, code.String(), member(t, client.Group(), ""), want)
	}
}

// ending is a stream that ends with an error.
type ending struct {
	grpc.ClientStream

	err error
}

func (e ending) RecvMsg(any) error { return e.err }
