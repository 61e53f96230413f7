package grpcthrottle_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// TestServer_Exempt has a throttle that sheds everything. Exempt calls are served, and counted in Stats.Exempt
// only. By default those are the calls of the health service. After Close all calls are served.
func TestServer_Exempt(t *testing.T) {
	for method, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := grpcthrottle.HealthCheck(t.Context(), grpcthrottle.RPC{Method: method}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", method, got, want)
		}
	}
	for name, exempt := range map[string]rpcs{"default": nil, "own": answersRPC(true)} {
		server := newServer(t, grpcthrottle.ServerConfig{
			Throttle: throttle.Config{Rand: always}, Exempt: exempt, Key: func(context.Context, grpcthrottle.RPC) string { return "all" },
		})
		th := throttle.Must(server.Group().Get("all"))
		spoil(t, th, throttle.Medium)
		serve := func(context.Context) error { return nil }
		for method, call := range serverCalls(server) {
			want, exempted := tallyOf(th), th.Stats().Exempt
			err := call(t.Context(), serve)
			if exempt == nil {
				want.shed++
				wantUnavailable(t, name+method, err, "throttle: call shed", time.Second)
			} else {
				exempted++
				must(t, err)
			}
			wants(t, name+method, th, want)
			if got := th.Stats().Exempt; got != exempted {
				t.Errorf("%s, %s: got %d exempt calls want %d", name, method, got, exempted)
			}
		}
		must(t, server.Close())
		before := tallyOf(th)
		for _, call := range serverCalls(server) {
			must(t, call(metadata.NewIncomingContext(t.Context(), metadata.Pairs(grpcthrottle.AttemptsKey, "1")), serve))
		}
		wants(t, name+", closed", th, before)
	}
}
