package grpcthrottle_test

import (
	"context"
	"strings"
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
		p := setup{server: c.config}.open(t)
		for _, method := range []string{buy, buy, browse} { // the second trailer may be the metadata of the first
			trailer, err := p.trailerOf(t, method)
			must(t, err)
			values := trailer[protocol.LoadTrailer]
			if report, ok := protocol.ParseBinaryLoad(values); ok != c.want || len(values) > 0 != c.want || report.Overloaded {
				t.Errorf("%s, %s: got %q, want a report: %v", name, method, values, c.want)
			}
		}
	}
}

// A proxy may pass on the trailer of a backend. Clients ignore two reports, and strangers get none.
func TestServer_Tell_inPlaceOfBackend(t *testing.T) {
	for name, c := range map[string]struct {
		config grpcthrottle.ServerConfig
		want   int
		own    bool
	}{
		"told":     {grpcthrottle.ServerConfig{Tell: answersRPC(true)}, 1, true},
		"not told": {grpcthrottle.ServerConfig{Tell: answersRPC(false)}, 0, false},
		"off":      {grpcthrottle.ServerConfig{}, 1, false},
	} {
		p := setup{server: c.config, shop: shop{stream: func(_ string, ss grpc.ServerStream) error {
			ss.SetTrailer(metadata.Pairs(protocol.LoadTrailer, "of a backend", "other", "kept"))
			return echo(ss)
		}}}.open(t)
		trailer, err := p.trailerOf(t, browse)
		must(t, err)
		values := trailer[protocol.LoadTrailer]
		if _, own := protocol.ParseBinaryLoad(values); len(values) != c.want || own != c.own || len(trailer["other"]) != 1 {
			t.Errorf("%s: got %q of %d fields", name, values, len(trailer))
		}
	}
}

// An outer interceptor may answer after a panic. That answer has a report too.
func TestServer_Tell_afterPanic(t *testing.T) {
	answer := func(err *error) {
		if recover() != nil {
			*err = status.Error(codes.Internal, "an accident")
		}
	}
	p := setup{
		server: grpcthrottle.ServerConfig{Tell: answersRPC(true)},
		shop: shop{
			buy:    func(context.Context, string) (string, error) { panic("an accident") },
			stream: func(string, grpc.ServerStream) error { panic("an accident") },
		},
		serve: []grpc.ServerOption{
			grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
				defer answer(&err)
				return next(ctx, req)
			}),
			grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
				defer answer(&err)
				return next(srv, ss)
			}),
		},
	}.open(t)
	for _, method := range []string{buy, browse} {
		trailer, err := p.trailerOf(t, method)
		if _, ok := protocol.ParseBinaryLoad(trailer[protocol.LoadTrailer]); !ok || status.Code(err) != codes.Internal {
			t.Errorf("%s: got trailer %v, error %v want a report", method, trailer, err)
		}
	}
}

func TestClient_Listen(t *testing.T) {
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
				p := setup{
					client: grpcthrottle.ClientConfig{Listen: c.listen, Retry: retries},
					server: grpcthrottle.ServerConfig{Tell: answersRPC(true), Throttle: throttle.Config{Rand: always}},
				}.open(t)
				spoil(t, throttle.Must(p.server.Group().Get(method)), throttle.Medium)
				equal(t, name+", "+method+": a shed of the server", status.Code(p.call(t.Context(), method)), codes.Unavailable)
				stats := member(t, p.client.Group(), target).Stats()
				if stats.Received.Overloaded != c.want || stats.Priorities[throttle.Medium].Told > 0 != c.want {
					t.Errorf("%s, %s: received %+v, told %v", name, method, stats.Received, stats.Priorities[throttle.Medium].Told)
				}
			}
		}
	}
}

// A panic of Listen leaves no call in flight.
func TestClient_Listen_panics(t *testing.T) {
	for _, method := range []string{buy, browse, fill, talk} {
		p := setup{
			client: grpcthrottle.ClientConfig{Listen: func(context.Context, grpcthrottle.RPC) bool { panic("an accident") }},
			server: grpcthrottle.ServerConfig{Tell: answersRPC(true)},
		}.open(t)
		if recovered(func() { _ = p.call(t.Context(), method) }) == nil {
			t.Errorf("%s: got no panic", method)
		}
		if got := books(member(t, p.client.Group(), target)); strings.Contains(got, "in flight") {
			t.Errorf("%s: got %q want no call in flight", method, got)
		}
	}
}
