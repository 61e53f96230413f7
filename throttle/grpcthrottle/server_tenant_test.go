package grpcthrottle_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// TestServer_Tenant checks which tenant a handler gets.
func TestServer_Tenant(t *testing.T) {
	of := func(_ context.Context, rpc grpcthrottle.RPC) string { return "tenant of " + rpc.Method }
	for _, tt := range []struct {
		name string
		of   func(context.Context, grpcthrottle.RPC) string
		want string
	}{{"of an earlier interceptor", nil, "earlier"}, {"of the function", of, "tenant of /test.Shop/Buy"}} {
		server := newServer(t, grpcthrottle.ServerConfig{Tenant: tt.of})
		got := ""
		ctx := throttle.WithTenant(t.Context(), "earlier")
		_, err := server.UnaryInterceptor()(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/test.Shop/Buy"},
			func(ctx context.Context, _ any) (any, error) {
				got = throttle.TenantFromContext(ctx)
				return nil, nil
			})
		must(t, err)
		if got != tt.want {
			t.Errorf("%s: got tenant %q, want %q", tt.name, got, tt.want)
		}
	}
}
