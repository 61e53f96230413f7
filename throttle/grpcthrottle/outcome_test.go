package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func TestClient_errorsUntouched(t *testing.T) {
	theirs := status.Error(codes.Unavailable, "theirs")
	client := newClient(t, grpcthrottle.ClientConfig{})
	for method, call := range clientCalls(client) {
		if err := call(t.Context(), func(context.Context) error { return theirs }); err != theirs { //nolint:errorlint // the very error is wanted
			t.Errorf("%s: got %v want the very error", method, err)
		}
	}
	wants(t, "both", member(t, client.Group(), ""), tally{rejected: 2})
}

// A pushback in the trailer says that the server is full, and 0 that it is not.
func TestOutcome_pushback(t *testing.T) {
	busy := status.Error(codes.Unavailable, "busy")
	for pushback, full := range map[string]uint64{"1500": 1, "0": 0} {
		for _, kind := range []string{buy, "retried", talk, fill, once} {
			config := grpcthrottle.ClientConfig{}
			if kind == "retried" {
				config.Retry = often() // and not repeatable
			}
			client, trailer := newClient(t, config), metadata.Pairs("grpc-retry-pushback-ms", pushback)
			p := open(t, &shop{
				buy: func(ctx context.Context, _ string) (string, error) {
					return "", errors.Join(grpc.SetTrailer(ctx, trailer), busy)
				},
				stream: func(_ string, ss grpc.ServerStream) error { ss.SetTrailer(trailer); return busy },
			}, nil, client.DialOptions()...)
			if kind == "retried" {
				_ = p.call(t.Context(), buy)
			} else {
				_ = p.call(t.Context(), kind)
			}
			stats := member(t, client.Group(), target).Stats().Priorities[throttle.Medium]
			if stats.Ended.Outcome(throttle.Rejected) != 1 || stats.Overloaded != full {
				t.Errorf("%s, pushback %s: got %+v want one rejection, %d of a full server", kind, pushback, stats, full)
			}
		}
	}
}

func TestClient_messageTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
		p := open(t, &shop{}, append(server.ServerOptions(), grpc.MaxRecvMsgSize(1000)), client.DialOptions()...)
		large := wrapperspb.String(strings.Repeat("x", 2000))
		for what, err := range map[string]error{
			"to send":    p.conn.Invoke(t.Context(), buy, large, new(text), grpc.MaxCallSendMsgSize(1000)),
			"to serve":   p.conn.Invoke(t.Context(), buy, large, new(text)),
			"compressed": p.conn.Invoke(t.Context(), buy, large, new(text), grpc.UseCompressor(gzip.Name)),
			"to receive": p.buy(t.Context(), grpc.MaxCallRecvMsgSize(1)),
		} {
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("%s: got %v want ResourceExhausted", what, err)
			}
		}
		th := member(t, client.Group(), target)
		if got := endedOf(th); got != "4 accepted/bad" {
			t.Errorf("got %s want 4 bad calls", got)
		}
	})
}

type late struct{}

func (late) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (late) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (late) HandleConn(context.Context, stats.ConnStats)                       {}

func (late) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutHeader); ok {
		time.Sleep(time.Second)
	}
}

// If the last retry ends while sending, gRPC returns a wrapped EOF without a status. The server has refused every attempt.
func TestOutcome_RetriesEndWhileSending(t *testing.T) {
	down := status.Error(codes.Unavailable, "down")
	for _, kind := range []string{"unary", "stream, ended by SendMsg", "stream, ended by RecvMsg"} {
		for _, finish := range []bool{true, false} { // whether gRPC calls OnFinish, or an inner interceptor removes it
			t.Run(fmt.Sprintf("%s, finish %v", kind, finish), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					attempts := 0
					client := newClient(t, grpcthrottle.ClientConfig{})
					options := append(client.DialOptions(), grpc.WithDefaultServiceConfig(retries), grpc.WithStatsHandler(late{}))
					if !finish {
						options = append(options, grpc.WithChainStreamInterceptor(withoutOnFinish))
					}
					p := open(t, &shop{stream: func(_ string, ss grpc.ServerStream) error {
						must(t, ss.RecvMsg(new(text)))
						return down
					}}, []grpc.ServerOption{grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
						if attempts++; attempts == 1 && kind == "stream, ended by RecvMsg" {
							return ctx, nil
						}
						return nil, down
					})}, options...)
					var err error
					if kind == "unary" {
						err = p.buy(t.Context())
					} else {
						var s grpc.ClientStream
						s, err = p.stream(t.Context(), talk)
						must(t, err)
						if err = s.SendMsg(wrapperspb.String("pear")); err == nil {
							err = s.RecvMsg(new(text))
						}
					}
					if _, known := status.FromError(err); attempts != 4 || known || !errors.Is(errors.Unwrap(err), io.EOF) {
						t.Errorf("got %v after %d attempts want an EOF inside of an error without status, after 4", err, attempts)
					}
					th := member(t, client.Group(), target)
					if got := endedOf(th); got != "1 rejected/availability" {
						t.Errorf("got %s want one that was unavailable", got)
					}
				})
			})
		}
	}
}

func withoutOnFinish(
	ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return streamer(ctx, d, cc, method)
}

// A server whose handler passes on the failure of its backend has capacity. So the throttle ignores the answer.
func TestOutcome_Dependency(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "no room")
	full := throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return status.Code(err) == codes.Internal })}
	for name, tt := range map[string]struct {
		config  throttle.Config
		shed    bool
		backend error // of the call that the handler makes
		want    tally
	}{
		"rejected":             {backend: unavailable, want: tally{ignored: 1}},
		"rejected by Classify": {config: full, backend: status.Error(codes.Internal, "full"), want: tally{ignored: 1}},
		"shed":                 {config: throttle.Config{Rand: always}, shed: true, want: tally{ignored: 1}},
		"another failure":      {backend: status.Error(codes.NotFound, "none"), want: tally{rejected: 1}},
	} {
		client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: tt.config}), newServer(t, grpcthrottle.ServerConfig{})
		if tt.shed {
			spoil(t, throttle.Must(client.Group().Get("")), throttle.Medium)
		}
		for method, call := range clientCalls(client) {
			err := serverCalls(server)[method](t.Context(), func(ctx context.Context) error {
				_ = call(ctx, func(context.Context) error { return tt.backend })
				return unavailable
			})
			if status.Code(err) != codes.Unavailable {
				t.Errorf("%s, %s: got %v want the answer of the handler", name, method, err)
			}
			wants(t, name+", "+method, throttle.Must(server.Group().Get(method)), tt.want)
		}
	}
}
