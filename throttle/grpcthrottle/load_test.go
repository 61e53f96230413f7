package grpcthrottle_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

type rpcs = func(context.Context, grpcthrottle.RPC) bool

func answersRPC(yes bool) rpcs { return func(context.Context, grpcthrottle.RPC) bool { return yes } }

func TestServer_Tell(t *testing.T) {
	trust := func(yes bool) throttle.Trust { return throttle.Trust{Peer: func(context.Context) bool { return yes }} }
	for name, c := range map[string]struct {
		config grpcthrottle.ServerConfig
		want   bool
	}{
		"default":    {},
		"trusted":    {grpcthrottle.ServerConfig{Trust: trust(true)}, true},
		"a stranger": {grpcthrottle.ServerConfig{Trust: trust(false)}, false},
		"Tell":       {grpcthrottle.ServerConfig{Trust: trust(false), Tell: answersRPC(true)}, true},
		"Tell not":   {grpcthrottle.ServerConfig{Trust: trust(true), Tell: answersRPC(false)}, false},
		"exempt":     {grpcthrottle.ServerConfig{Tell: answersRPC(true), Exempt: answersRPC(true)}, false},
	} {
		p := open(t, &shop{}, newServer(t, c.config).ServerOptions())
		var trailers [2]metadata.MD // the second one may be the metadata of the first
		for i := range trailers {
			must(t, p.buy(t.Context(), grpc.Trailer(&trailers[i])))
		}
		s, err := p.stream(t.Context(), browse)
		must(t, err)
		must(t, errors.Join(s.SendMsg(new(text)), s.CloseSend()))
		for err == nil {
			err = s.RecvMsg(new(text))
		}
		for i, trailer := range append(trailers[:], s.Trailer()) {
			values := trailer[protocol.LoadTrailer]
			if report, ok := protocol.ParseBinaryLoad(values); ok != c.want || len(values) > 0 != c.want || report.Overloaded {
				t.Errorf("%s, call %d: got %q, want a report: %v", name, i, values, c.want)
			}
		}
	}
}

func TestClient_Listen(t *testing.T) {
	server := newServer(t, grpcthrottle.ServerConfig{
		Tell: answersRPC(true), Key: func(context.Context, grpcthrottle.RPC) string { return "" }, Throttle: throttle.Config{Rand: always},
	})
	spoil(t, throttle.Must(server.Group().Get("")), throttle.Medium)
	for name, c := range map[string]struct {
		listen rpcs
		want   bool
	}{
		"default":   {nil, false},
		"allowed":   {func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Target == target }, true},
		"forbidden": {answersRPC(false), false},
	} {
		for _, retries := range []*retry.Config{nil, {}} {
			for _, method := range []string{buy, browse} {
				client := newClient(t, grpcthrottle.ClientConfig{Listen: c.listen, Retry: retries})
				p := open(t, &shop{}, server.ServerOptions(), client.DialOptions()...)
				if err := p.call(t.Context(), method); status.Code(err) != codes.Unavailable {
					t.Errorf("%s, %s: got error %v want a shed of the server", name, method, err)
				}
				stats := member(t, client.Group(), target).Stats()
				if stats.Received.Overloaded != c.want || stats.Priorities[throttle.Medium].Told > 0 != c.want {
					t.Errorf("%s, %s: received %+v, told %v", name, method, stats.Received, stats.Priorities[throttle.Medium].Told)
				}
			}
		}
	}
}
