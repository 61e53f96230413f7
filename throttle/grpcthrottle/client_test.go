package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
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

func TestClientClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := throttletest.NewRecorder()
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "client", Hooks: rec.Hooks()}})
		p := open(t, &shop{}, nil, client.DialOptions()...)
		must(t, p.buy(t.Context()))
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		must(t, client.Close())
		must(t, client.Close())
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		must(t, s.CloseSend())
		must(t, s.RecvMsg(new(text)))
		if err := s.RecvMsg(new(text)); err == nil {
			t.Error("got no end of the stream")
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
