package grpcthrottle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// Exempt calls are served whatever the throttle decides: by default those of the health service.
func TestServer_Exempt(t *testing.T) {
	for method, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := grpcthrottle.HealthCheck(t.Context(), grpcthrottle.RPC{Method: method}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", method, got, want)
		}
	}
	server := newServer(t, grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Rand: always}, Exempt: func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Method != talk },
		Key: func(context.Context, grpcthrottle.RPC) string { return "all" },
	})
	th := throttle.Must(server.Group().Get("all"))
	spoil(t, th, throttle.Medium)
	counted, shedBefore := books(th), shedBy(th)
	for method, call := range serverCalls(server) {
		if err := call(t.Context(), func(context.Context) error { return nil }); errors.Is(err, throttle.ErrShed) != (method == talk) {
			t.Errorf("%s: got %v", method, err)
		}
	}
	wants(t, "exempt", th, counted)
	if shed, exempt := shedBy(th)-shedBefore, th.Stats().Exempt; shed != 1 || exempt != 2 {
		t.Errorf("got %d calls shed and %d exempt want 1 and 2", shed, exempt)
	}
}
