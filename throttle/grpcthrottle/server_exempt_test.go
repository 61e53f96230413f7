package grpcthrottle_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// TestServer_Exempt has a throttle that sheds everything. Calls of the health service are served, and
// counted in Stats.Exempt only. An Exempt of the config replaces the service. After Close all calls are
// served.
func TestServer_Exempt(t *testing.T) {
	ofShop := func(_ context.Context, rpc grpcthrottle.RPC) bool {
		return strings.HasPrefix(rpc.Method, "/test.Shop/")
	}
	for name, exempt := range map[string]func(context.Context, grpcthrottle.RPC) bool{"health": nil, "shop": ofShop} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, grpcthrottle.ServerConfig{
				Throttle: throttle.Config{Rand: always}, Exempt: exempt,
				Key: func(context.Context, grpcthrottle.RPC) string { return "all" },
			})
			p := open(t, &shop{}, server.ServerOptions())
			th := throttle.Must(server.Group().Get("all"))
			spoil(t, th, throttle.Medium)
			before := tallyOf(th)
			ask := func(ctx context.Context) map[string][2]error {
				return map[string][2]error{"health": p.check(ctx), "shop": {p.buy(ctx), p.converse(ctx, talk)}}
			}
			for service, errs := range ask(t.Context()) {
				for _, err := range errs {
					if service == name {
						must(t, err)
					} else {
						wantUnavailable(t, service+", exempt "+name, err, "throttle: call shed", time.Second)
					}
				}
			}
			synctest.Wait()
			before.shed += 2
			wants(t, "exempt "+name, th, before)
			if got := th.Stats().Exempt; got != 2 {
				t.Errorf("exempt %s: got %d exempt calls want 2", name, got)
			}
			must(t, server.Close())
			for _, errs := range ask(metadata.AppendToOutgoingContext(t.Context(), grpcthrottle.AttemptsKey, "1")) {
				must(t, errs[0])
				must(t, errs[1])
			}
			if got := th.Stats().Exempt; got != 2 {
				t.Errorf("after Close: got %d exempt calls want 2", got)
			}
		})
	}
}
