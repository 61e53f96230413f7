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

// retries is a retry policy of gRPC's own: four attempts within a second.
func retries() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s",
		"maxBackoff": "0.1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`)
}

// counting counts the calls that arrive, and lets a function refuse them.
func counting(n *int, refuse func() error) grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		*n++
		return ctx, refuse()
	})
}

func refuseNone() error { return nil }

func TestRetryPolicyOfGRPC(t *testing.T) {
	for name, tt := range map[string]struct {
		shed     bool
		pushback time.Duration
		want     int // attempts
		atLeast  time.Duration
	}{
		"a plain Unavailable is sent again": {false, 0, 4, 0},
		"a shed is not":                     {true, 0, 1, 0},
		"a shed may be, after a while":      {true, 2 * time.Second, 4, 6 * time.Second},
	} {
		for _, method := range []string{buy, talk} {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				p := setup{
					server: grpcthrottle.ServerConfig{Throttle: throttle.Config{Rand: always}, Pushback: tt.pushback},
					shop:   failing(status.Error(codes.Unavailable, "down")), serve: []grpc.ServerOption{counting(&attempts, refuseNone)},
					dial: []grpc.DialOption{retries()},
				}.open(t)
				if tt.shed {
					spoil(t, throttle.Must(p.server.Group().Get(method)), throttle.Medium)
				}
				began := time.Now()
				err := p.call(t.Context(), method)
				took := time.Since(began)
				if status.Code(err) != codes.Unavailable || attempts != tt.want || took < tt.atLeast || took > tt.atLeast+time.Second {
					t.Errorf("%s, %s: got %v, %d attempts within %v want Unavailable, %d within %v", name, method, err, attempts, took, tt.want, tt.atLeast)
				}
				p.wants(t, "one call to the client's throttle", method, "1 rejected/availability", "-")
			})
		}
	}
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
func TestRetryPolicyOfGRPC_endsWhileSending(t *testing.T) {
	down := status.Error(codes.Unavailable, "down")
	for _, kind := range []string{"unary", "stream, ended by SendMsg", "stream, ended by RecvMsg"} {
		for _, finish := range []bool{true, false} { // whether gRPC calls OnFinish, or an inner interceptor removes it
			t.Run(fmt.Sprintf("%s, finish %v", kind, finish), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					attempts := 0
					s := setup{dial: []grpc.DialOption{retries(), grpc.WithStatsHandler(late{})}}
					s.serve = []grpc.ServerOption{counting(&attempts, func() error {
						if attempts == 1 && kind == "stream, ended by RecvMsg" {
							return nil
						}
						return down
					})}
					s.shop.stream = func(_ string, ss grpc.ServerStream) error { return errors.Join(ss.RecvMsg(new(text)), down) }
					if !finish {
						s.dial = append(s.dial, grpc.WithChainStreamInterceptor(withoutOnFinish))
					}
					p := s.open(t)
					var err error
					if kind == "unary" {
						err = p.buy(t.Context())
					} else {
						stream, opened := p.stream(t.Context(), talk)
						must(t, opened)
						if err = stream.SendMsg(wrapperspb.String("pear")); err == nil {
							err = stream.RecvMsg(new(text))
						}
					}
					if _, known := status.FromError(err); attempts != 4 || known || !errors.Is(errors.Unwrap(err), io.EOF) {
						t.Errorf("got %v after %d attempts want an EOF inside of an error without status, after 4", err, attempts)
					}
					p.wants(t, "refused", talk, "1 rejected/availability", "-")
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
