package connectthrottle_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

const (
	healthCheck = "/grpc.health.v1.Health/Check"
	healthWatch = "/grpc.health.v1.Health/Watch"
)

// clinic serves the shop and the health service.
func clinic(options connect.HandlerOption) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", handle(sold, options))
	mux.Handle(healthCheck, connect.NewUnaryHandler(healthCheck, func(context.Context, *connect.Request[text]) (*connect.Response[text], error) {
		return connect.NewResponse(new(text)), nil
	}, options))
	mux.Handle(healthWatch, connect.NewServerStreamHandler(healthWatch, func(_ context.Context, _ *connect.Request[text], s *connect.ServerStream[text]) error {
		return s.Send(new(text))
	}, options))
	return mux
}

// checkHealth calls both procedures of the health service, and returns their errors.
func (p *place) checkHealth(ctx context.Context) []error {
	_, unary := p.dial(healthCheck).CallUnary(ctx, connect.NewRequest(new(text)))
	s, err := p.dial(healthWatch).CallServerStream(ctx, connect.NewRequest(new(text)))
	if err == nil {
		for s.Receive() {
			continue
		}
		err = s.Err()
		_ = s.Close()
	}
	return []error{unary, err}
}

// TestServer_Exempt has a throttle that sheds everything. Calls of the health service are served, and
// counted in Stats.Exempt only. An Exempt of the config replaces the service. After Close all calls are
// served.
func TestServer_Exempt(t *testing.T) {
	ofShop := func(_ context.Context, rpc connectthrottle.RPC) bool {
		return strings.HasPrefix(rpc.Spec.Procedure, "/test.Shop/")
	}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for name, exempt := range map[string]func(context.Context, connectthrottle.RPC) bool{"health": nil, "shop": ofShop} {
			server, serving := newServer(t, connectthrottle.ServerConfig{
				Throttle: throttle.Config{Rand: always}, Exempt: exempt, Key: func(context.Context, connectthrottle.RPC) string { return "all" },
			})
			p := open(t, clinic(serving), protocol)
			spoil(t, server.Group(), "all")
			th := member(t, server.Group(), "all")
			want, exempted := tallyOf(th), uint64(0)
			for service, errs := range map[string][]error{"health": p.checkHealth(t.Context()), "shop": {p.call(t.Context(), procedure)}} {
				for _, err := range errs {
					if service == name {
						exempted++
						must(t, err)
					} else {
						want.shed++
						wantShed(t, err, time.Second, "1")
					}
				}
			}
			wants(t, "exempt "+name, th, want)
			if got := th.Stats().Exempt; got != exempted {
				t.Errorf("exempt %s: got %d exempt calls want %d", name, got, exempted)
			}
			must(t, server.Close())
			for _, err := range append(p.checkHealth(t.Context()), p.call(t.Context(), procedure)) {
				must(t, err)
			}
			if got := th.Stats().Exempt; got != exempted {
				t.Errorf("after Close: got %d exempt calls want %d", got, exempted)
			}
		}
	})
}
