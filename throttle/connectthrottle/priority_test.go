package connectthrottle_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// stamping is a transport that sets headers, as an untrusted sender can.
type stamping struct {
	http.RoundTripper

	words []string
}

func (s stamping) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, word := range s.words {
		r.Header.Add(connectthrottle.PriorityHeader, word)
	}
	return s.RoundTripper.RoundTrip(r)
}

func TestPriority_Incoming(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		trusted := func(context.Context) bool { return true }
		for _, tt := range []struct {
			name     string
			words    []string
			trust    throttle.Trust
			priority throttle.Priority // of the Priority function, if it is not High
			want     throttle.Priority
			header   string
		}{
			{"not trusted", []string{"high"}, throttle.Trust{}, 0, throttle.Medium, ""},
			{"chosen", nil, throttle.Trust{Peer: trusted}, throttle.Low, throttle.Low, ""},
			{"trusted", []string{"high"}, throttle.Trust{Peer: trusted, Ceiling: throttle.Important}, throttle.Low, throttle.Important, "important"},
			{"repeated", []string{"high", "high"}, throttle.Trust{Peer: trusted, Default: throttle.Low}, 0, throttle.Low, ""},
		} {
			config := connectthrottle.ServerConfig{Trust: tt.trust, Tenant: func(_ context.Context, rpc connectthrottle.RPC) string {
				return "of " + rpc.Spec.Procedure
			}}
			if tt.priority != throttle.High {
				config.Priority = func(context.Context, connectthrottle.RPC) throttle.Priority { return tt.priority }
			}
			server, serving := newServer(t, config)
			p := open(t, handle(func(ctx context.Context, h http.Header, _ func(string) error) error {
				if got := throttle.PriorityFromContext(ctx, 15); got != tt.want {
					t.Errorf("%s: got %v want %v", tt.name, got, tt.want)
				}
				if got, of := h.Get(connectthrottle.PriorityHeader), throttle.TenantFromContext(ctx); got != tt.header || of != "of "+procedure {
					t.Errorf("%s: got header %q and tenant %q want %q", tt.name, got, of, tt.header)
				}
				return nil
			}, serving), protocol)
			p.client.Transport = stamping{p.client.Transport, tt.words}
			must(t, p.call(t.Context(), procedure))
			if got := member(t, server.Group(), procedure).Stats().Priorities[tt.want].Admitted; got != 1 {
				t.Errorf("%s: got %d admitted want 1", tt.name, got)
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
		for _, tt := range []struct {
			name   string
			config connectthrottle.ClientConfig
			ctx    context.Context
			want   string
		}{
			{"never by default", connectthrottle.ClientConfig{Priority: low}, throttle.WithPriority(t.Context(), throttle.High), ""},
			{"context", connectthrottle.ClientConfig{Priority: low, Send: send}, throttle.WithPriority(t.Context(), throttle.High), "high"},
			{"function", connectthrottle.ClientConfig{Priority: low, Send: send}, t.Context(), "low"},
			{"not set", connectthrottle.ClientConfig{Send: send}, t.Context(), ""},
			{"out of range", connectthrottle.ClientConfig{Send: send}, throttle.WithPriority(t.Context(), 99), "p15"},
		} {
			_, calling := newClient(t, tt.config)
			p := open(t, handle(func(_ context.Context, h http.Header, _ func(string) error) error {
				if got := h.Get(connectthrottle.PriorityHeader); got != tt.want {
					t.Errorf("%s: got header %q want %q", tt.name, got, tt.want)
				}
				return nil
			}), protocol, calling)
			ctx, info := connect.NewClientContext(tt.ctx)
			info.RequestHeader()["throttle-priority"] = []string{"important"}
			info.RequestHeader()[connectthrottle.PriorityHeader] = []string{"important"}
			must(t, p.call(ctx, procedure))
		}
	})
}
