package connectthrottle_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// TestServer_Exempt has a throttle that sheds everything. Exempt calls are served, and counted in Stats.Exempt
// only. By default those are the calls of the health service.
func TestServer_Exempt(t *testing.T) {
	for procedure, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := connectthrottle.HealthCheck(t.Context(), connectthrottle.RPC{Spec: connect.Spec{Procedure: procedure}}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", procedure, got, want)
		}
	}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for name, exempt := range map[string]func(context.Context, connectthrottle.RPC) bool{
			"default": nil,
			"own":     func(_ context.Context, rpc connectthrottle.RPC) bool { return rpc.Spec.Procedure == procedure },
		} {
			server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: throttle.Config{Rand: always}, Exempt: exempt})
			p := open(t, handle(sold, serving), protocol)
			spoil(t, server.Group(), procedure)
			th := member(t, server.Group(), procedure)
			want, exempted := tallyOf(th), uint64(0)
			err := p.call(t.Context(), procedure)
			if exempt == nil {
				want.shed++
				wantShed(t, err, time.Second, "1")
			} else {
				exempted++
				must(t, err)
			}
			wants(t, name, th, want)
			if got := th.Stats().Exempt; got != exempted {
				t.Errorf("%s: got %d exempt calls want %d", name, got, exempted)
			}
		}
	})
}
