package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const target = "passthrough:///shop"

func TestClientContextOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		p := open(t, &shop{}, nil, client.DialOptions()...)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		for want, ctx := range map[codes.Code]context.Context{codes.Canceled: canceled, codes.DeadlineExceeded: late} {
			err := p.buy(ctx)
			_, streamErr := p.stream(ctx, talk)
			for _, err := range []error{err, streamErr} {
				if status.Code(err) != want || !errors.Is(err, ctx.Err()) {
					t.Errorf("got %v want code %v and %v", err, want, ctx.Err())
				}
			}
		}
		wants(t, "no call was made", member(t, client.Group(), target), tally{})
	})
}

func TestClientBadPriority(t *testing.T) {
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
	p := open(t, &shop{}, nil, client.DialOptions()...)
	ctx := throttle.WithPriority(t.Context(), 7)
	_, streamErr := p.stream(ctx, talk)
	for _, err := range []error{p.buy(ctx), streamErr} {
		if status.Code(err) != codes.Internal || !strings.Contains(status.Convert(err).Message(), "want 0 (high) to 3 (low)") {
			t.Errorf("got %v want code Internal, and the range", err)
		}
	}
}

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
	for i := range 10_000 {
		method := fmt.Sprintf("/a.B/M%d", i)
		call(one, method)
		call(byMethod, method)
		if n := byMethod.Group().Len(); n > 10 {
			t.Fatalf("got %d throttles want at most 10", n)
		}
	}
	wants(t, "one target", member(t, one.Group(), ""), tally{accepted: 10_000})
	wants(t, "the last of many methods", member(t, byMethod.Group(), "/a.B/M9999"), tally{accepted: 1})
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
			t.Errorf("got %d calls told want %d", got, want)
		}
		if got, want := rec.Count(throttletest.KindFinished), 2; got != want {
			t.Errorf("got %d ends told want %d", got, want)
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

func recovered(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
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

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() error
		want []string
	}{
		{"client without a name", func() error { _, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{}); return err }, []string{"grpcthrottle: ClientConfig.Throttle: throttle: Config.Name"}},
		{"client's group", func() error {
			_, err := grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "a"}, Group: throttle.GroupConfig{Max: -1}})
			return err
		}, []string{"grpcthrottle: ClientConfig.Group: throttle: GroupConfig.Max is -1"}},
		{"server without anything right", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
				RetryAfter: -1, Pushback: 2 * time.Hour, Group: throttle.GroupConfig{Max: -1},
			})
			return err
		}, []string{"ServerConfig.Throttle: throttle: Config.Name", "GroupConfig.Max", "ServerConfig.RetryAfter is -1ns: want 0s to 1h0m0s", "ServerConfig.Pushback is 2h0m0s: want"}},
		{"server's throttle", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: throttle.Config{Name: "a", Ratio: 0.5}})
			return err
		}, []string{"Config.Ratio is 0.5"}},
		{"server's trust", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
				Throttle: throttle.Config{Name: "a"}, Trust: throttle.Trust{Ceiling: 16, Default: -1},
			})
			return err
		}, []string{
			"grpcthrottle: ServerConfig.Trust.Ceiling: throttle: priority 16 is out of range: want 0 (high) to 15 (p15)",
			"grpcthrottle: ServerConfig.Trust.Default: throttle: priority -1 is out of range",
		}},
		{"server's lowest trust", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{
				Throttle: throttle.Config{Name: "a"}, Trust: throttle.Trust{Ceiling: 15, Default: 15},
			})
			return err
		}, nil},
		{"server's longest", func() error {
			_, err := grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: throttle.Config{Name: "a"}, RetryAfter: time.Hour, Pushback: time.Hour})
			return err
		}, nil},
	} {
		err := tt.make()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: got %v want an error: %v", tt.name, err, tt.want != nil)
		}
		for _, want := range tt.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v want %q in it", tt.name, err, want)
			}
		}
	}
	created := 0
	newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "a", Hooks: throttle.Hooks{Created: func(*throttle.Throttle) { created++ }}}})
	if created != 0 {
		t.Errorf("got %d throttles told before the first call want 0", created)
	}
}
