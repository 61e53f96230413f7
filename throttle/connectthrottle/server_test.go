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

// Exempt calls are served whatever the throttle decides: by default those of the health service.
func TestServer_Exempt(t *testing.T) {
	for procedure, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := connectthrottle.HealthCheck(t.Context(), connectthrottle.RPC{Spec: connect.Spec{Procedure: procedure}}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", procedure, got, want)
		}
	}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		server, serving := newServer(t, connectthrottle.ServerConfig{
			Throttle: throttle.Config{Rand: always},
			Exempt:   func(_ context.Context, rpc connectthrottle.RPC) bool { return rpc.Spec.Procedure == procedure },
		})
		p := open(t, handle(sold, serving), protocol)
		spoil(t, server.Group(), procedure)
		th := member(t, server.Group(), procedure)
		want := tallyOf(th)
		must(t, p.call(t.Context(), procedure))
		wants(t, "exempt", th, want)
		if got := th.Stats().Exempt; got != 1 {
			t.Errorf("got %d exempt calls want 1", got)
		}
	})
}
