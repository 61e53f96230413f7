package grpcthrottle_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// travel is a call from a client to a server, and the priority that it has on the way and for the handler.
type travel struct {
	ctx    context.Context
	client grpcthrottle.ClientConfig
	copied []string // already in the metadata
	said   string   // on the way
	want   throttle.Priority
	onward string // in the metadata of the handler, if the server trusts the client
}

// A priority is sent only where Send allows it, and never one that was copied from another call. Package protocol
// has the rules by which a server trusts it.
func TestPriority(t *testing.T) {
	carry := func(p throttle.Priority) context.Context { return throttle.WithPriority(t.Context(), p) }
	low := func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Low }
	sends := grpcthrottle.ClientConfig{Send: answersRPC(true)}
	choosing := grpcthrottle.ClientConfig{Send: answersRPC(true), Priority: low}
	refusing := grpcthrottle.ClientConfig{Send: answersRPC(false), Priority: low}
	for name, c := range map[string]travel{
		"carried":         {carry(throttle.High), choosing, nil, "[high]", throttle.Important, "[important]"},
		"chosen":          {t.Context(), choosing, nil, "[low]", throttle.Low, "[low]"},
		"not set":         {t.Context(), sends, nil, "[]", throttle.Medium, "[]"},
		"not allowed":     {carry(throttle.High), refusing, nil, "[]", throttle.Medium, "[]"},
		"no Send":         {carry(throttle.High), grpcthrottle.ClientConfig{Priority: low}, nil, "[]", throttle.Medium, "[]"},
		"out of range":    {carry(100), sends, nil, "[p15]", 15, "[p15]"},
		"said already":    {carry(throttle.Low), sends, []string{"low"}, "[low]", throttle.Low, "[low]"},
		"copied":          {carry(throttle.Low), sends, []string{"high"}, "[low]", throttle.Low, "[low]"},
		"copied twice":    {carry(throttle.Low), sends, []string{"low", "low"}, "[low]", throttle.Low, "[low]"},
		"copied, no Send": {carry(throttle.Low), grpcthrottle.ClientConfig{}, []string{"low"}, "[]", throttle.Medium, "[]"},
		"copied, not set": {t.Context(), sends, []string{"high"}, "[]", throttle.Medium, "[]"},
	} {
		for i, word := range c.copied {
			c.ctx = metadata.AppendToOutgoingContext(c.ctx, "Throttle-Priority", word, "tenant", fmt.Sprint(i))
		}
		before, _ := metadata.FromOutgoingContext(c.ctx)
		client := newClient(t, c.client)
		c.check(t, name, client, true)
		must(t, client.Close())
		c.check(t, name+", closed", client, true)
		c.want, c.onward = throttle.Medium, "[]"
		c.check(t, name+", not trusted", client, false)
		after, _ := metadata.FromOutgoingContext(c.ctx)
		equal(t, name+": the metadata of the caller", fmt.Sprint(after), fmt.Sprint(before))
	}
}

func (c travel) check(t *testing.T, name string, client *grpcthrottle.Client, trusted bool) {
	server := newServer(t, grpcthrottle.ServerConfig{
		Priority: func(context.Context, grpcthrottle.RPC) throttle.Priority { return throttle.Medium },
		Tenant:   func(_ context.Context, rpc grpcthrottle.RPC) string { return "of " + rpc.Method },
		Trust:    throttle.Trust{Peer: func(context.Context) bool { return trusted }, Ceiling: throttle.Important},
	})
	for method, call := range clientCalls(client) {
		must(t, call(c.ctx, func(ctx context.Context) error {
			md, _ := metadata.FromOutgoingContext(ctx)
			equal(t, name+", "+method+": priority in the metadata", fmt.Sprint(md[grpcthrottle.PriorityKey]), c.said)
			return serverCalls(server)[method](metadata.NewIncomingContext(t.Context(), md), func(ctx context.Context) error {
				md, _ := metadata.FromIncomingContext(ctx)
				if got := throttle.PriorityFromContext(ctx, 99); got != c.want || fmt.Sprint(md[grpcthrottle.PriorityKey]) != c.onward {
					t.Errorf("%s, %s: the handler has %v, and %v in its metadata want %v, %s", name, method, got, md, c.want, c.onward)
				}
				if len(md["tenant"]) != len(c.copied) || throttle.TenantFromContext(ctx) != "of "+method {
					t.Errorf("%s, %s: got %v want the other metadata kept, and the tenant", name, method, md)
				}
				return nil
			})
		}))
		priorities := throttle.Must(server.Group().Get(method)).Stats().Priorities
		equal(t, fmt.Sprintf("%s, %s: calls of %v", name, method, c.want), priorities[min(int(c.want), len(priorities)-1)].Admitted, 1)
	}
}
