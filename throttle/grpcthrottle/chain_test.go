package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// TestInterceptorsBeforeAndAfter sees that those before count a shed, and that those after are spared.
func TestInterceptorsBeforeAndAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		note := func(who string) []grpc.DialOption {
			return []grpc.DialOption{
				grpc.WithChainUnaryInterceptor(func(ctx context.Context, m string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
					err := invoke(ctx, m, req, reply, cc, opts...)
					seen = append(seen, fmt.Sprintf("%s unary %v", who, errors.Is(err, throttle.ErrShed)))
					return err
				}),
				grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, m string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
					s, err := streamer(ctx, d, cc, m, opts...)
					seen = append(seen, fmt.Sprintf("%s stream %v", who, errors.Is(err, throttle.ErrShed)))
					return s, err
				}),
			}
		}
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Rand: always}})
		p := open(t, &shop{}, nil, slices.Concat(note("before"), client.DialOptions(), note("after"))...)
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		spoil(t, member(t, client.Group(), target), throttle.Medium)
		_ = p.buy(t.Context())
		_, _ = p.stream(t.Context(), talk)
		want := []string{
			"after unary false", "before unary false", "after stream false", "before stream false", "before unary true", "before stream true",
		}
		if !slices.Equal(seen, want) {
			t.Errorf("got %q want %q", seen, want)
		}
	})
}

// TestRetryingInterceptorOutside has every attempt decided about.
func TestRetryingInterceptorOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		again := grpc.WithChainUnaryInterceptor(func(ctx context.Context, m string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := invoke(ctx, m, req, reply, cc, opts...)
			if status.Code(err) == codes.Unavailable && !errors.Is(err, throttle.ErrShed) {
				err = invoke(ctx, m, req, reply, cc, opts...)
			}
			return err
		})
		p := open(t, &shop{buy: func(context.Context, string) (string, error) {
			return "", status.Error(codes.Unavailable, "down")
		}}, nil, append([]grpc.DialOption{again}, client.DialOptions()...)...)
		_ = p.buy(t.Context())
		wants(t, "two attempts", member(t, client.Group(), target), tally{rejected: 2})
	})
}

// TestWaitForReady calls a server that is not there yet.
func TestWaitForReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		listener := bufconn.Listen(1 << 16)
		var up atomic.Bool
		conn := dial(t, target, func(ctx context.Context) (net.Conn, error) {
			if !up.Load() {
				return nil, errors.New("nobody there")
			}
			return listener.DialContext(ctx)
		}, client.DialOptions()...)
		defer conn.Close()
		p := &place{conn: conn}
		if err := p.buy(t.Context()); status.Code(err) != codes.Unavailable {
			t.Errorf("not ready: got %v want Unavailable", err)
		}
		th := member(t, client.Group(), target)
		wants(t, "not ready", th, tally{rejected: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.buy(ctx, grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("waited in vain: got %v want DeadlineExceeded", err)
		}
		wants(t, "waited in vain", th, tally{rejected: 2})

		done := make(chan error)
		go func() { done <- p.buy(t.Context(), grpc.WaitForReady(true)) }()
		synctest.Wait()
		wants(t, "waiting", th, tally{rejected: 2, inFlight: 1})
		server := grpc.NewServer()
		(&shop{}).register(server)
		go func() { _ = server.Serve(listener) }()
		defer server.Stop()
		up.Store(true)
		must(t, <-done)
		wants(t, "served", th, tally{rejected: 2, accepted: 1})
	})
}

func TestServerStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
		p := open(t, &shop{buy: func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }},
			server.ServerOptions(), client.DialOptions()...)
		done := make(chan error)
		go func() { done <- p.buy(t.Context()) }()
		synctest.Wait()
		th := member(t, client.Group(), target)
		wants(t, "in flight", th, tally{inFlight: 1})
		p.server.Stop()
		if err := <-done; status.Code(err) != codes.Unavailable {
			t.Errorf("got %v want Unavailable", err)
		}
		wants(t, "stopped", th, tally{rejected: 1})
		if err := p.buy(t.Context()); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v want Unavailable", err)
		}
		wants(t, "still stopped", th, tally{rejected: 2})
		synctest.Wait()
		wants(t, "server", member(t, server.Group(), buy), tally{ignored: 1})
	})
}

func TestConnectionClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		p := open(t, &shop{}, nil, client.DialOptions()...)
		must(t, p.buy(t.Context()))
		must(t, p.conn.Close())
		if err := p.buy(t.Context()); status.Code(err) != codes.Canceled {
			t.Errorf("unary: got %v want Canceled", err)
		}
		if _, err := p.stream(t.Context(), talk); status.Code(err) != codes.Canceled {
			t.Errorf("stream: got %v want Canceled", err)
		}
		wants(t, "closed", member(t, client.Group(), target), tally{accepted: 1, ignored: 2})
	})
}
