package grpcthrottle_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// FuzzRetryMetadata wants no panic, and delays that gRPC would obey.
func FuzzRetryMetadata(f *testing.F) {
	f.Add("1500", "2")
	f.Add("-1", "+2")
	f.Add("soon", "99999999999")
	f.Fuzz(func(t *testing.T, pushback, attempts string) {
		client := newClient(t, grpcthrottle.ClientConfig{Retry: often(), Repeatable: anyCall})
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		err := client.UnaryInterceptor()(ctx, buy, nil, nil, nil,
			func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
				sent++
				cancel() // no wait
				for _, o := range opts {
					if trailer, ok := o.(grpc.TrailerCallOption); ok {
						*trailer.TrailerAddr = metadata.MD{"grpc-retry-pushback-ms": {pushback}}
					}
				}
				return status.Error(codes.Unavailable, "busy")
			})
		if sent != 1 || errors.Is(err, throttle.ErrShed) {
			t.Errorf("got %d attempts, %v", sent, err)
		}
		server := newServer(t, grpcthrottle.ServerConfig{LowerRetries: true})
		in := metadata.NewIncomingContext(t.Context(), metadata.Pairs(grpcthrottle.AttemptsKey, attempts))
		_, _ = server.UnaryInterceptor()(in, nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(ctx context.Context, _ any) (any, error) {
			if n := retry.FromContext(ctx).Number; n != 1 && strconv.Itoa(n-1) != attempts || n < 1 || n > 99 {
				t.Errorf("%q: got attempt %d", attempts, n)
			}
			return nil, nil
		})
	})
}
