package grpcthrottle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// retries is a retry policy of gRPC's own: four attempts within a second.
const retries = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s",
	"maxBackoff": "0.1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

func counting(n *int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			*n++
			return h(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			*n++
			return h(srv, ss)
		}),
	}
}

func TestRetryPolicyOfGRPC(t *testing.T) {
	for _, tt := range []struct {
		name     string
		shed     bool
		pushback time.Duration
		want     int // attempts
		atLeast  time.Duration
	}{
		{"a plain Unavailable is sent again", false, 0, 4, 0},
		{"a shed is not", true, 0, 1, 0},
		{"a shed may be, after a while", true, 2 * time.Second, 4, 6 * time.Second},
	} {
		for _, method := range []string{buy, talk} {
			t.Run(tt.name+", "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					attempts := 0
					client := newClient(t, grpcthrottle.ClientConfig{})
					server := newServer(t, grpcthrottle.ServerConfig{
						Throttle: throttle.Config{Rand: always}, Pushback: tt.pushback,
					})
					down := status.Error(codes.Unavailable, "down")
					p := open(t, &shop{
						buy:    func(context.Context, string) (string, error) { return "", down },
						stream: func(string, grpc.ServerStream) error { return down },
					}, append(counting(&attempts), server.ServerOptions()...),
						append(client.DialOptions(), grpc.WithDefaultServiceConfig(retries))...)
					if tt.shed {
						for _, method := range []string{buy, talk} {
							spoil(t, throttle.Must(server.Group().Get(method)), throttle.Medium)
						}
					}
					began := time.Now()
					err := p.call(t.Context(), method)
					took := time.Since(began)
					if status.Code(err) != codes.Unavailable || attempts != tt.want || took < tt.atLeast || took > tt.atLeast+time.Second {
						t.Errorf("got %v, %d attempts within %v want Unavailable, %d within %v", err, attempts, took, tt.want, tt.atLeast)
					}
					wants(t, "one call to the client's throttle", member(t, client.Group(), target), tally{rejected: 1})
				})
			})
		}
	}
}
