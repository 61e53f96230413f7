package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func TestServer_Shed(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for delay, retryAfter := range map[time.Duration]string{0: "1", time.Hour: "3600", 1500 * time.Millisecond: "2"} {
			server, serving := newServer(t, connectthrottle.ServerConfig{
				Throttle: throttle.Config{Rand: always}, RetryAfter: delay,
			})
			p := open(t, handle(func(context.Context, http.Header, func(string) error) error {
				t.Error("got a call: it was shed")
				return nil
			}, serving), protocol)
			spoil(t, server.Group(), procedure)
			if delay == 0 {
				delay = time.Second
			}
			err := p.call(t.Context(), procedure)
			wantShed(t, err, delay, retryAfter)
			if fault, ok := faults.AsUnavailable(connectthrottle.FromError(err)); !ok || fault.RetryInfo.RetryDelay != delay {
				t.Errorf("got fault %v want a delay of %v", fault, delay)
			}
		}
	})
}

// TestServer_InnerShed answers for a handler whose own call was shed, and ignores that.
func TestServer_InnerShed(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		inner, innerCalling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Name: "secret", Rand: always}})
		spoil(t, inner.Group(), host)
		backend := open(t, handle(sold), innerCalling)
		client, calling := newClient(t, connectthrottle.ClientConfig{})
		server, serving := newServer(t, connectthrottle.ServerConfig{RetryAfter: time.Minute})
		var outer error
		logging := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
				res, err := next(ctx, req)
				outer = err
				return res, err
			}
		}))
		p := open(t, handle(func(ctx context.Context, _ http.Header, _ func(string) error) error {
			return errors.Join(backend.call(ctx, procedure))
		}, logging, serving), protocol, calling)
		wantShed(t, p.call(t.Context(), procedure), time.Minute, "60")
		if procedure == buy && !strings.Contains(outer.Error(), "secret") {
			t.Errorf("outer interceptor: got %v want the name of the throttle", outer)
		}
		wants(t, "client", member(t, client.Group(), host), tally{rejected: 1})
		if th := member(t, server.Group(), procedure); faultsOf(th, throttle.Ignored, throttle.FaultShed) != 1 {
			t.Errorf("server: got %+v want one ignored with shed", tallyOf(th))
		}
	})
}

// TestServer_SharedError serves concurrent calls whose handler returns the same error. The race detector watches.
func TestServer_SharedError(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		down := connect.NewError(connect.CodeUnavailable, errors.New("down"))
		server, serving := newServer(t, connectthrottle.ServerConfig{})
		p := open(t, handle(func(context.Context, http.Header, func(string) error) error { return down }, serving), protocol)
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { _ = p.call(t.Context(), procedure) })
		}
		callers.Wait()
		wants(t, "all down", member(t, server.Group(), procedure), tally{rejected: 10})
	})
}

// TestServer_earlier has a priority and a tenant that an earlier interceptor put into the context. The Tenant
// function replaces the tenant.
func TestServer_earlier(t *testing.T) {
	of := func(_ context.Context, rpc connectthrottle.RPC) string { return "tenant of " + rpc.Spec.Procedure }
	for want, tenant := range map[string]func(context.Context, connectthrottle.RPC) string{"earlier": nil, "tenant of ": of} {
		server, _ := newServer(t, connectthrottle.ServerConfig{Tenant: tenant})
		ctx := throttle.WithPriority(throttle.WithTenant(t.Context(), "earlier"), throttle.High)
		serve := server.Interceptor().WrapUnary(func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) {
			if got, p := throttle.TenantFromContext(ctx), throttle.PriorityFromContext(ctx, 99); got != want || p != throttle.High {
				t.Errorf("got tenant %q and priority %v want %q and high", got, p, want)
			}
			return nil, nil
		})
		_, err := serve(ctx, connect.NewRequest(&struct{}{}))
		must(t, err)
		if got := member(t, server.Group(), "").Stats().Priorities[throttle.High].Admitted; got != 1 {
			t.Errorf("got %d admitted as High want 1", got)
		}
	}
}

// TestServer_Exempt has a throttle that sheds everything. Exempt calls are served, and counted in Stats.Exempt
// only. By default those are the calls of the health service.
func TestServer_Exempt(t *testing.T) {
	for procedure, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := connectthrottle.HealthCheck(t.Context(), connectthrottle.RPC{Spec: connect.Spec{Procedure: procedure}}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", procedure, got, want)
		}
	}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for name, exempt := range map[string]func(context.Context, connectthrottle.RPC) bool{
			"default": nil,
			"own":     func(_ context.Context, rpc connectthrottle.RPC) bool { return rpc.Spec.Procedure == procedure },
		} {
			server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: throttle.Config{Rand: always}, Exempt: exempt})
			p := open(t, handle(sold, serving), protocol)
			spoil(t, server.Group(), procedure)
			th := member(t, server.Group(), procedure)
			want, exempted := tallyOf(th), uint64(0)
			err := p.call(t.Context(), procedure)
			if exempt == nil {
				want.shed++
				wantShed(t, err, time.Second, "1")
			} else {
				exempted++
				must(t, err)
			}
			wants(t, name, th, want)
			if got := th.Stats().Exempt; got != exempted {
				t.Errorf("%s: got %d exempt calls want %d", name, got, exempted)
			}
		}
	})
}
