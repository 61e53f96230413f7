package grpcthrottle_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

type rpcs = func(context.Context, grpcthrottle.RPC) bool

func answersRPC(yes bool) rpcs { return func(context.Context, grpcthrottle.RPC) bool { return yes } }

// TestServer_Tell wants the trailer in calls of those that it is meant for, and in no others.
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
		"shadow":     {grpcthrottle.ServerConfig{Tell: answersRPC(true), Throttle: throttle.Config{Mode: throttle.ModeShadow}}, false},
		"exempt":     {grpcthrottle.ServerConfig{Tell: answersRPC(true), Exempt: answersRPC(true)}, false},
	} {
		p := open(t, &shop{}, newServer(t, c.config).ServerOptions())
		var trailer metadata.MD
		for range 2 { // the second one has the metadata of the first
			must(t, p.buy(t.Context(), grpc.Trailer(&trailer)))
			wantLoad(t, name+", unary", trailer, c.want)
		}
		s, err := p.stream(t.Context(), browse)
		must(t, err)
		must(t, s.SendMsg(new(text)))
		must(t, s.CloseSend())
		for err == nil {
			err = s.RecvMsg(new(text))
		}
		wantLoad(t, name+", stream", s.Trailer(), c.want)
	}
}

// wantLoad wants the report of a calm server, or none.
func wantLoad(t *testing.T, what string, trailer metadata.MD, want bool) {
	t.Helper()
	report, ok := protocol.ParseBinaryLoad(trailer[protocol.LoadTrailer])
	if ok != want || report != (throttle.LoadReport{}) || !want && len(trailer[protocol.LoadTrailer]) > 0 {
		t.Errorf("%s: got %q, want a report: %v", what, trailer[protocol.LoadTrailer], want)
	}
}

// TestClient_Listen has a server that sheds calls, and clients that listen or not.
func TestClient_Listen(t *testing.T) {
	server := newServer(t, grpcthrottle.ServerConfig{
		Tell: answersRPC(true), Key: func(context.Context, grpcthrottle.RPC) string { return "" }, Throttle: throttle.Config{Rand: always},
	})
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
				if server.Group().Len() == 0 {
					must(t, p.buy(t.Context()))
					spoil(t, member(t, server.Group(), ""), throttle.Medium)
				}
				var err error
				if method == buy {
					err = p.buy(t.Context())
				} else {
					err = p.converse(t.Context(), method)
				}
				if status.Code(err).String() != "Unavailable" {
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
