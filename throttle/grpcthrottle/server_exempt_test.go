package grpcthrottle_test

import (
	"context"
	"testing"
	"testing/synctest"
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
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, grpcthrottle.ServerConfig{
				Throttle: throttle.Config{Rand: always}, Exempt: exempt, Key: func(context.Context, grpcthrottle.RPC) string { return "all" },
			})
			p := open(t, &shop{}, server.ServerOptions())
			th := throttle.Must(server.Group().Get("all"))
			spoil(t, th, throttle.Medium)
			want, exempted := tallyOf(th), uint64(0)
			for _, err := range []error{p.buy(t.Context()), p.converse(t.Context(), talk)} {
				if exempt == nil {
					want.shed++
					wantUnavailable(t, name, err, "throttle: call shed", time.Second)
				} else {
					exempted++
					must(t, err)
				}
			}
			synctest.Wait()
			wants(t, name, th, want)
			must(t, server.Close())
			retry := metadata.AppendToOutgoingContext(t.Context(), grpcthrottle.AttemptsKey, "1")
			must(t, p.buy(retry))
			must(t, p.converse(retry, talk))
			if got := th.Stats().Exempt; got != exempted {
				t.Errorf("%s: got %d exempt calls want %d", name, got, exempted)
			}
		})
	}
}
