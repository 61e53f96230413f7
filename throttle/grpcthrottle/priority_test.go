package grpcthrottle_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestPriorityReceived(t *testing.T) {
	trusted := func(ctx context.Context) bool {
		p, ok := peer.FromContext(ctx)
		return ok && p.Addr.Network() == "bufconn"
	}
	untrusted := func(context.Context) bool { return false }
	chosen := func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Medium }
	tests := []struct {
		name   string
		said   []string
		peer   func(context.Context) bool
		choose func(context.Context, grpcthrottle.RPC) throttle.Priority
		want   throttle.Priority
		onward []string // what the handler's metadata says
	}{
		{"nothing", nil, trusted, nil, throttle.Low, nil},
		{"trusted", []string{"medium"}, trusted, nil, throttle.Medium, []string{"medium"}},
		{"trusted before chosen", []string{"low"}, trusted, chosen, throttle.Low, []string{"low"}},
		{"trusted above the ceiling", []string{"high"}, trusted, nil, throttle.Important, []string{"important"}},
		{"untrusted, chosen", []string{"high"}, untrusted, chosen, throttle.Medium, nil},
		{"twice", []string{"medium", "medium"}, trusted, nil, throttle.Low, nil},
		{"beyond this throttle's", []string{"p9"}, trusted, nil, throttle.Low, []string{"p9"}},
	}
	for _, tt := range tests {
		for _, kind := range []string{"unary", "stream"} {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rec := throttletest.NewRecorder()
					server := newServer(t, grpcthrottle.ServerConfig{
						Throttle: throttle.Config{Name: "server", Hooks: rec.Hooks()}, Priority: tt.choose,
						Trust: throttle.Trust{Peer: tt.peer, Ceiling: throttle.Important, Default: throttle.Low},
					})
					look := func(ctx context.Context) {
						if got := throttle.PriorityFromContext(ctx, 99); got != tt.want && got != 9 {
							t.Errorf("handler's context: got %v want %v", got, tt.want)
						}
						md, _ := metadata.FromIncomingContext(ctx)
						if got := md[grpcthrottle.PriorityKey]; fmt.Sprint(got) != fmt.Sprint(tt.onward) {
							t.Errorf("handler's metadata: got %q want %q", got, tt.onward)
						}
						if md.Get("tenant") == nil {
							t.Error("handler's metadata: got none of someone else's")
						}
					}
					p := open(t, &shop{
						buy:    func(ctx context.Context, _ string) (string, error) { look(ctx); return "", nil },
						stream: func(_ string, ss grpc.ServerStream) error { look(ss.Context()); return echo(ss) },
					}, server.ServerOptions())
					ctx := metadata.AppendToOutgoingContext(t.Context(), "tenant", "7")
					for _, word := range tt.said {
						ctx = metadata.AppendToOutgoingContext(ctx, "Throttle-Priority", word)
					}
					if kind == "unary" {
						must(t, p.buy(ctx))
					} else {
						must(t, p.converse(ctx, talk))
					}
					if got := rec.Started()[0].Priority; got != tt.want {
						t.Errorf("throttle: got %v want %v", got, tt.want)
					}
				})
			})
		}
	}
}

// The priority in the context, from an earlier interceptor, takes precedence.
func TestPriorityOfContextFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := throttletest.NewRecorder()
		server := newServer(t, grpcthrottle.ServerConfig{
			Throttle: throttle.Config{Name: "server", Hooks: rec.Hooks()},
			Trust:    throttle.Trust{Peer: func(context.Context) bool { return true }, Default: throttle.Low},
			Priority: func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Low },
		})
		front := grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			return h(throttle.WithPriority(ctx, throttle.High), req)
		})
		p := open(t, &shop{}, append([]grpc.ServerOption{front}, server.ServerOptions()...))
		must(t, p.buy(t.Context()))
		must(t, p.buy(metadata.AppendToOutgoingContext(t.Context(), grpcthrottle.PriorityKey, "medium")))
		for _, e := range rec.Started() {
			if e.Priority != throttle.High {
				t.Errorf("got %v want high", e.Priority)
			}
		}
	})
}

func TestPrioritySent(t *testing.T) {
	yes := func(context.Context, grpcthrottle.RPC) bool { return true }
	here := func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Target == target && rpc.Method != "" }
	no := func(context.Context, grpcthrottle.RPC) bool { return false }
	low := func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Low }
	tests := []struct {
		name     string
		send     func(context.Context, grpcthrottle.RPC) bool
		priority func(context.Context, grpcthrottle.RPC) throttle.Priority
		carried  []throttle.Priority
		copied   []string // already in the metadata
		want     []string
	}{
		{"carried", yes, low, []throttle.Priority{throttle.High}, nil, []string{"high"}},
		{"to this target", here, nil, []throttle.Priority{throttle.Medium}, nil, []string{"medium"}},
		{"chosen", yes, low, nil, nil, []string{"low"}},
		{"not set", yes, nil, nil, nil, nil},
		{"not to this one", no, low, []throttle.Priority{throttle.High}, nil, nil},
		{"no Send", nil, low, []throttle.Priority{throttle.High}, nil, nil},
		{"too low", yes, nil, []throttle.Priority{100}, nil, []string{"p15"}},
		{"negative", yes, nil, []throttle.Priority{-1}, nil, []string{"p15"}},
		{"said already", yes, nil, []throttle.Priority{throttle.Low}, []string{"low"}, []string{"low"}},
		{"copied, replaced", yes, nil, []throttle.Priority{throttle.Low}, []string{"high"}, []string{"low"}},
		{"copied twice, replaced", yes, nil, []throttle.Priority{throttle.Low}, []string{"low", "low"}, []string{"low"}},
		{"copied, taken out", nil, nil, []throttle.Priority{throttle.Low}, []string{"low"}, nil},
		{"copied, not set", yes, nil, nil, []string{"high"}, nil},
	}
	for _, tt := range tests {
		for _, closed := range []bool{false, true} {
			client := newClient(t, grpcthrottle.ClientConfig{Send: tt.send, Priority: tt.priority})
			if closed {
				must(t, client.Close())
			}
			synctest.Test(t, func(t *testing.T) {
				look := func(ctx context.Context) {
					md, _ := metadata.FromIncomingContext(ctx)
					if got := md[grpcthrottle.PriorityKey]; fmt.Sprint(got) != fmt.Sprint(tt.want) {
						t.Errorf("%s, closed %v: got %q want %q", tt.name, closed, got, tt.want)
					}
					if tt.copied != nil && md.Get("tenant") == nil {
						t.Errorf("%s: got none of the caller's own metadata", tt.name)
					}
				}
				p := open(t, &shop{
					buy:    func(ctx context.Context, _ string) (string, error) { look(ctx); return "", nil },
					stream: func(_ string, ss grpc.ServerStream) error { look(ss.Context()); return echo(ss) },
				}, nil, client.DialOptions()...)
				ctx := t.Context()
				for _, p := range tt.carried {
					ctx = throttle.WithPriority(ctx, p)
				}
				for i, word := range tt.copied {
					ctx = metadata.AppendToOutgoingContext(ctx, "Throttle-Priority", word, "tenant", fmt.Sprint(i))
				}
				before, _ := metadata.FromOutgoingContext(ctx)
				must(t, p.buy(ctx))
				must(t, p.converse(ctx, talk))
				if after, _ := metadata.FromOutgoingContext(ctx); fmt.Sprintf("%#v", after) != fmt.Sprintf("%#v", before) {
					t.Errorf("%s: got the caller's metadata changed from %#v to %#v", tt.name, before, after)
				}
			})
		}
	}
}
