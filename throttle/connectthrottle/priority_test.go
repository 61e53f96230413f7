package connectthrottle_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// What a handler gets of the priority that a sender names. Package protocol has the rules of Trust.
func TestPriority_Incoming(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		trusted := func(context.Context) bool { return true }
		low := func(context.Context, connectthrottle.RPC) throttle.Priority { return throttle.Low }
		for name, tt := range map[string]struct {
			words    []string
			trust    throttle.Trust
			priority func(context.Context, connectthrottle.RPC) throttle.Priority
			want     throttle.Priority
			header   string
		}{
			"not trusted": {[]string{"high"}, throttle.Trust{}, nil, throttle.Medium, ""},
			"chosen":      {nil, throttle.Trust{Peer: trusted}, low, throttle.Low, ""},
			"trusted":     {[]string{"high"}, throttle.Trust{Peer: trusted, Ceiling: throttle.Important}, low, throttle.Important, "important"},
			"repeated":    {[]string{"high", "high"}, throttle.Trust{Peer: trusted, Default: throttle.Low}, nil, throttle.Low, ""},
		} {
			tenant := func(_ context.Context, rpc connectthrottle.RPC) string { return "of " + rpc.Spec.Procedure }
			p := setup{
				server: connectthrottle.ServerConfig{Trust: tt.trust, Tenant: tenant, Priority: tt.priority},
				serve: func(ctx context.Context, h http.Header, _ func(string) error) error {
					got, header, of := throttle.PriorityFromContext(ctx, 15), h.Get(connectthrottle.PriorityHeader), throttle.TenantFromContext(ctx)
					if got != tt.want || header != tt.header || of != "of "+procedure {
						t.Errorf("%s: got %v, header %q and tenant %q want %v, %q", name, got, header, of, tt.want, tt.header)
					}
					return nil
				},
			}.open(t, protocol)
			transport := p.http.Transport
			p.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) { // any sender can set headers
				r = r.Clone(r.Context())
				r.Header[connectthrottle.PriorityHeader] = tt.words
				return transport.RoundTrip(r)
			})
			must(t, p.call(t.Context(), procedure))
			if got := member(t, p.server.Group(), procedure).Stats().Priorities[tt.want].Admitted; got != 1 {
				t.Errorf("%s: got %d admitted want 1", name, got)
			}
		}
	})
}

// TestPriority_Outgoing sends a priority only where Send allows it, and never one that was copied.
func TestPriority_Outgoing(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		low := func(context.Context, connectthrottle.RPC) throttle.Priority { return throttle.Low }
		send := func(_ context.Context, rpc connectthrottle.RPC) bool {
			return rpc.Peer.Addr == host && rpc.Spec.Procedure == procedure
		}
		for name, tt := range map[string]struct {
			config connectthrottle.ClientConfig
			ctx    context.Context
			want   string
		}{
			"never by default": {connectthrottle.ClientConfig{Priority: low}, throttle.WithPriority(t.Context(), throttle.High), ""},
			"context":          {connectthrottle.ClientConfig{Priority: low, Send: send}, throttle.WithPriority(t.Context(), throttle.High), "high"},
			"function":         {connectthrottle.ClientConfig{Priority: low, Send: send}, t.Context(), "low"},
			"not set":          {connectthrottle.ClientConfig{Send: send}, t.Context(), ""},
		} {
			p := setup{client: tt.config, serve: sold}.open(t, protocol)
			transport := p.http.Transport
			p.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				if got := r.Header.Get(connectthrottle.PriorityHeader); got != tt.want {
					t.Errorf("%s: got header %q want %q", name, got, tt.want)
				}
				return transport.RoundTrip(r)
			})
			ctx, info := connect.NewClientContext(tt.ctx)
			info.RequestHeader()["throttle-priority"] = []string{"important"}
			info.RequestHeader()[connectthrottle.PriorityHeader] = []string{"important"}
			must(t, p.call(ctx, procedure))
		}
	})
}
