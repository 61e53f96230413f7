package connectthrottle_test

import (
	"context"
	"testing"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// TestServer_Tenant checks which tenant a handler gets.
func TestServer_Tenant(t *testing.T) {
	of := func(context.Context, connectthrottle.RPC) string { return "ann" }
	for _, tt := range []struct {
		name string
		of   func(context.Context, connectthrottle.RPC) string
		want string
	}{{"of an earlier interceptor", nil, "earlier"}, {"of the function", of, "ann"}} {
		server, _ := newServer(t, connectthrottle.ServerConfig{Tenant: tt.of})
		got := ""
		next := func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) {
			got = throttle.TenantFromContext(ctx)
			return nil, nil
		}
		ctx := throttle.WithTenant(t.Context(), "earlier")
		_, err := server.Interceptor().WrapUnary(next)(ctx, connect.NewRequest(&struct{}{}))
		must(t, err)
		if got != tt.want {
			t.Errorf("%s: got tenant %q, want %q", tt.name, got, tt.want)
		}
	}
}
