package grpcthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestClientPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := throttletest.NewRecorder()
		hooked := throttle.Config{Name: "client", Hooks: rec.Hooks()}
		var asked []grpcthrottle.RPC
		choosy := newClient(t, grpcthrottle.ClientConfig{Throttle: hooked, Priority: func(_ context.Context, rpc grpcthrottle.RPC) throttle.Priority {
			asked = append(asked, rpc)
			return throttle.Low
		}})
		silent := newClient(t, grpcthrottle.ClientConfig{Throttle: hooked})
		high := throttle.WithPriority(t.Context(), throttle.High)
		for _, c := range []*grpcthrottle.Client{choosy, silent} {
			p := open(t, &shop{}, nil, c.DialOptions()...)
			must(t, p.buy(t.Context()))
			must(t, p.converse(t.Context(), talk))
			must(t, p.buy(high))
			must(t, p.converse(high, talk))
		}
		var got []throttle.Priority
		for _, e := range rec.Started() {
			got = append(got, e.Priority)
		}
		if want := "[low low high high medium medium high high]"; fmt.Sprint(got) != want {
			t.Errorf("got %v want %v", got, want)
		}
		want := []grpcthrottle.RPC{{Method: buy, Target: target}, {Method: talk, Target: target, Stream: true}}
		if fmt.Sprint(asked) != fmt.Sprint(want) {
			t.Errorf("asked about %v want %v", asked, want)
		}
	})
}

func TestClientKeys(t *testing.T) {
	call := func(c *grpcthrottle.Client, method string) {
		t.Helper()
		invoker := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
		must(t, c.UnaryInterceptor()(t.Context(), method, nil, nil, nil, invoker))
	}
	one := newClient(t, grpcthrottle.ClientConfig{})
	byMethod := newClient(t, grpcthrottle.ClientConfig{
		Group: throttle.GroupConfig{Max: 10},
		Key:   func(_ context.Context, rpc grpcthrottle.RPC) string { return rpc.Method },
	})
	for i := range 1000 {
		method := fmt.Sprintf("/a.B/M%d", i)
		call(one, method)
		call(byMethod, method)
		if n := byMethod.Group().Len(); n > 10 {
			t.Fatalf("got %d throttles want at most 10", n)
		}
	}
	wants(t, "one target", member(t, one.Group(), ""), tally{accepted: 1000})
	wants(t, "the last of many methods", member(t, byMethod.Group(), "/a.B/M999"), tally{accepted: 1})
}

func TestClientClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := throttletest.NewRecorder()
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "client", Hooks: rec.Hooks()}})
		p := open(t, &shop{}, nil, client.DialOptions()...)
		must(t, p.buy(t.Context()))
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		var log bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		defer slog.SetDefault(before)
		must(t, client.Close())
		must(t, client.Close())
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		must(t, s.CloseSend())
		must(t, s.RecvMsg(new(text)))
		if err := s.RecvMsg(new(text)); err == nil {
			t.Error("got no end of the stream")
		}
		if n := strings.Count(log.String(), `level=WARN msg="throttle: calls pass no throttle"`); n != 1 {
			t.Errorf("got %d warnings want 1: %s", n, log.String())
		}
		if got, want := rec.Count(throttletest.KindStarted), 2; got != want {
			t.Errorf("got %d calls of Started want %d", got, want)
		}
		if got, want := rec.Count(throttletest.KindFinished), 2; got != want {
			t.Errorf("got %d calls of Finished want %d", got, want)
		}
	})
}

func TestClientPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []string{"unary", "stream"} {
			client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{
				Classify: func(context.Context, error) (throttle.Outcome, bool) { return throttle.Rejected, true },
			}})
			p := open(t, &shop{}, nil, append(client.DialOptions(),
				grpc.WithChainUnaryInterceptor(func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
					panic("boom")
				}),
				grpc.WithChainStreamInterceptor(func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
					panic("boom")
				}))...)
			if got := recovered(func() {
				if kind == "unary" {
					_ = p.buy(t.Context())
					return
				}
				_, _ = p.stream(t.Context(), talk)
			}); got != "boom" {
				t.Errorf("%s: got panic %v want boom", kind, got)
			}
			th := member(t, client.Group(), target)
			wants(t, kind, th, tally{ignored: 1})
			if faultsOf(th, throttle.Ignored, throttle.FaultPanic) != 1 {
				t.Errorf("%s: got another fault than a panic", kind)
			}
		}
	})
}

func TestClientHookContext(t *testing.T) {
	type key struct{}
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "client", Hooks: throttle.Hooks{
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, key{}, "hook")
		},
	}}})
	_ = client.UnaryInterceptor()(t.Context(), buy, nil, nil, nil,
		func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			if ctx.Value(key{}) != "hook" {
				t.Error("unary: got another context than the hook's")
			}
			return nil
		})
	_, _ = client.StreamInterceptor()(t.Context(), shapes[talk], nil, talk,
		func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			if ctx.Value(key{}) != "hook" {
				t.Error("stream: got another context than the hook's")
			}
			return nil, errors.New("no stream")
		})
}

// Interceptors before the throttle see a shed call, those after it do not.
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

// TestNames_announced are those of the throttles that the first calls make.
func TestNames_announced(t *testing.T) {
	var names []string
	c := throttle.Config{Name: "targets", Hooks: throttle.Hooks{Announced: func(name string) { names = append(names, name) }}}
	retries := &retry.Config{Hooks: retry.Hooks{Announced: func(name string) { names = append(names, "retries of "+name) }}}
	_, clientErr := grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: c, Retry: retries})
	_, serverErr := grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: c})
	if err := errors.Join(clientErr, serverErr); err != nil || !slices.Equal(names, []string{"retries of targets", "targets", "targets"}) {
		t.Errorf("got %q, error %v want the names of client and server", names, err)
	}
}
