package grpcthrottle_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// What a handler gets of the priority that a sender names. Package protocol has the rules of Trust.
func TestServer_priority(t *testing.T) {
	peer := func(trusted bool) func(context.Context) bool { return func(context.Context) bool { return trusted } }
	medium := func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Medium }
	high := throttle.WithPriority(t.Context(), throttle.High)
	for name, c := range map[string]struct {
		ctx    context.Context // of an earlier interceptor
		said   string
		peer   func(context.Context) bool
		choose func(context.Context, grpcthrottle.RPC) throttle.Priority
		want   throttle.Priority
		onward string // what the metadata of the handler says
	}{
		"nothing":           {t.Context(), "", peer(true), nil, throttle.Low, "[]"},
		"chosen":            {t.Context(), "", peer(true), medium, throttle.Medium, "[]"},
		"trusted":           {t.Context(), "low", peer(true), medium, throttle.Low, "[low]"},
		"above the ceiling": {t.Context(), "high", peer(true), nil, throttle.Important, "[important]"},
		"not trusted":       {t.Context(), "high", peer(false), medium, throttle.Medium, "[]"},
		"earlier, trusted":  {high, "medium", peer(true), medium, throttle.High, "[medium]"},
	} {
		server := newServer(t, grpcthrottle.ServerConfig{
			Priority: c.choose, Tenant: func(_ context.Context, rpc grpcthrottle.RPC) string { return "of " + rpc.Method },
			Trust: throttle.Trust{Peer: c.peer, Ceiling: throttle.Important, Default: throttle.Low},
		})
		md := metadata.Pairs("other", "7")
		if c.said != "" {
			md.Set(grpcthrottle.PriorityKey, c.said)
		}
		for method, call := range serverCalls(server) {
			must(t, call(metadata.NewIncomingContext(c.ctx, md), func(ctx context.Context) error {
				md, _ := metadata.FromIncomingContext(ctx)
				if got := throttle.PriorityFromContext(ctx, 99); got != c.want || fmt.Sprint(md[grpcthrottle.PriorityKey]) != c.onward {
					t.Errorf("%s, %s: the handler has %v, and %v in its metadata want %v, %s", name, method, got, md, c.want, c.onward)
				}
				if len(md["other"]) != 1 || throttle.TenantFromContext(ctx) != "of "+method {
					t.Errorf("%s, %s: got %v want the other metadata kept, and the tenant", name, method, md)
				}
				return nil
			}))
			if got := throttle.Must(server.Group().Get(method)).Stats().Priorities[c.want].Admitted; got != 1 {
				t.Errorf("%s, %s: got %d calls of %v want 1", name, method, got, c.want)
			}
		}
	}
}

// A priority is sent only where Send allows it, and never one that was copied from another call.
func TestClient_priority(t *testing.T) {
	low := func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Low }
	carry := func(p throttle.Priority) context.Context { return throttle.WithPriority(t.Context(), p) }
	for name, c := range map[string]struct {
		config grpcthrottle.ClientConfig
		ctx    context.Context
		copied []string // already in the metadata
		want   string
	}{
		"carried":         {grpcthrottle.ClientConfig{Send: answersRPC(true), Priority: low}, carry(throttle.High), nil, "[high]"},
		"chosen":          {grpcthrottle.ClientConfig{Send: answersRPC(true), Priority: low}, t.Context(), nil, "[low]"},
		"not set":         {grpcthrottle.ClientConfig{Send: answersRPC(true)}, t.Context(), nil, "[]"},
		"not allowed":     {grpcthrottle.ClientConfig{Send: answersRPC(false), Priority: low}, carry(throttle.High), nil, "[]"},
		"no Send":         {grpcthrottle.ClientConfig{Priority: low}, carry(throttle.High), nil, "[]"},
		"out of range":    {grpcthrottle.ClientConfig{Send: answersRPC(true)}, carry(100), nil, "[p15]"},
		"said already":    {grpcthrottle.ClientConfig{Send: answersRPC(true)}, carry(throttle.Low), []string{"low"}, "[low]"},
		"copied":          {grpcthrottle.ClientConfig{Send: answersRPC(true)}, carry(throttle.Low), []string{"high"}, "[low]"},
		"copied twice":    {grpcthrottle.ClientConfig{Send: answersRPC(true)}, carry(throttle.Low), []string{"low", "low"}, "[low]"},
		"copied, no Send": {grpcthrottle.ClientConfig{}, carry(throttle.Low), []string{"low"}, "[]"},
		"copied, not set": {grpcthrottle.ClientConfig{Send: answersRPC(true)}, t.Context(), []string{"high"}, "[]"},
	} {
		for _, closed := range []bool{false, true} {
			client := newClient(t, c.config)
			if closed {
				must(t, client.Close())
			}
			ctx := c.ctx
			for i, word := range c.copied {
				ctx = metadata.AppendToOutgoingContext(ctx, "Throttle-Priority", word, "tenant", fmt.Sprint(i))
			}
			before, _ := metadata.FromOutgoingContext(ctx)
			for method, call := range clientCalls(client) {
				must(t, call(ctx, func(ctx context.Context) error {
					md, _ := metadata.FromOutgoingContext(ctx)
					if fmt.Sprint(md[grpcthrottle.PriorityKey]) != c.want || len(md["tenant"]) != len(c.copied) {
						t.Errorf("%s, %s, closed %v: got metadata %v want priority %s", name, method, closed, md, c.want)
					}
					return nil
				}))
			}
			if after, _ := metadata.FromOutgoingContext(ctx); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s: got the metadata of the caller changed from %v to %v", name, before, after)
			}
		}
	}
}
