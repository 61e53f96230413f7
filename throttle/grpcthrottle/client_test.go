package grpcthrottle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// A client asks about each call with its method and its target, and a server with its method.
func TestRPC(t *testing.T) {
	var asked []grpcthrottle.RPC
	p := setup{
		client: grpcthrottle.ClientConfig{Priority: func(_ context.Context, rpc grpcthrottle.RPC) throttle.Priority {
			asked = append(asked, rpc)
			return throttle.Low
		}},
		server: grpcthrottle.ServerConfig{Key: func(_ context.Context, rpc grpcthrottle.RPC) string {
			asked = append(asked, rpc)
			return "all"
		}},
	}.open(t)
	must(t, p.buy(t.Context()))
	must(t, p.converse(t.Context(), talk))
	must(t, p.buy(throttle.WithPriority(t.Context(), throttle.High)))
	if want := []grpcthrottle.RPC{
		{Method: buy, Target: target},
		{Method: buy},
		{Method: talk, Target: target, Stream: true},
		{Method: talk, Stream: true},
		{Method: buy},
	}; !slices.Equal(asked, want) {
		t.Errorf("asked about %v want %v", asked, want)
	}
	if got := member(t, p.client.Group(), target).Stats().Priorities; got[throttle.Low].Admitted != 2 || got[throttle.High].Admitted != 1 {
		t.Errorf("admitted %+v want two low calls and a high one", got)
	}
	wants(t, "server", member(t, p.server.Group(), "all"), "3 accepted/none")
}

// Calls after Close pass no throttle. A stream that is in flight is counted to its end.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := setup{}.open(t)
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		synctest.Wait()
		client, server := member(t, p.client.Group(), target), member(t, p.server.Group(), talk)
		must(t, errors.Join(p.client.Close(), p.client.Close(), p.server.Close(), p.server.Close()))
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		wants(t, "client, after Close", client, "1 in flight")
		wants(t, "server, after Close", server, "1 in flight")
		must(t, errors.Join(s.CloseSend(), s.RecvMsg(new(text))))
		if err := s.RecvMsg(new(text)); err == nil {
			t.Error("got no end of the stream")
		}
		synctest.Wait()
		wants(t, "client, the stream", client, "1 accepted/none")
		wants(t, "server, the stream", server, "1 accepted/none")
	})
}

// A panic continues, and its call is ignored whatever Classify returns.
func TestPanic(t *testing.T) {
	config := throttle.Config{Classify: throttle.RejectIf(func(error) bool { return true })}
	all := func(context.Context, grpcthrottle.RPC) string { return "" }
	client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: config}), newServer(t, grpcthrottle.ServerConfig{Throttle: config, Key: all})
	retrying := newClient(t, grpcthrottle.ClientConfig{Throttle: config, Retry: often()})
	for name, side := range map[string]struct {
		calls
		group *throttle.Group
		want  string
	}{
		"client": {clientCalls(client), client.Group(), "2 ignored/panic"}, "retrying client": {clientCalls(retrying), retrying.Group(), "2 ignored/panic"},
		"server": {serverCalls(server), server.Group(), "3 ignored/panic"},
	} {
		for method, call := range side.calls {
			if got := recovered(func() { _ = call(t.Context(), func(context.Context) error { panic("boom") }) }); got != "boom" {
				t.Errorf("%s, %s: got panic %v want boom", name, method, got)
			}
		}
		wants(t, name, member(t, side.group, ""), side.want)
	}
}

// The context of the Started hook goes on to the call, on both sides.
func TestStarted(t *testing.T) {
	type key struct{}
	config := throttle.Config{Hooks: throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return context.WithValue(ctx, key{}, "hook")
	}}}
	client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: config}), newServer(t, grpcthrottle.ServerConfig{Throttle: config})
	for _, side := range []calls{clientCalls(client), serverCalls(server)} {
		for method, call := range side {
			must(t, call(t.Context(), func(ctx context.Context) error {
				if ctx.Value(key{}) != "hook" {
					t.Errorf("%s: got another context than the hook's", method)
				}
				return nil
			}))
		}
	}
}

// TestSlow: the first message is what counts, on both sides. A stream may go on for any time.
func TestSlow(t *testing.T) {
	slowly := throttle.Config{Slow: 100 * time.Millisecond}
	for wait, late := range map[time.Duration]uint64{50 * time.Millisecond: 0, time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			p := setup{grpcthrottle.ClientConfig{Throttle: slowly}, grpcthrottle.ServerConfig{Throttle: slowly}, shop{
				buy: func(context.Context, string) (string, error) { time.Sleep(wait); return "sold", nil },
				stream: func(_ string, ss grpc.ServerStream) error {
					time.Sleep(wait)
					must(t, ss.SendMsg(wrapperspb.String("pear")))
					time.Sleep(time.Minute)
					return ss.SendMsg(wrapperspb.String("apple"))
				},
			}, nil, nil}.open(t)
			must(t, p.converse(t.Context(), browse))
			must(t, p.buy(t.Context()))
			for th, want := range map[*throttle.Throttle]uint64{
				member(t, p.client.Group(), target): 2 * late, member(t, p.server.Group(), browse): late, member(t, p.server.Group(), buy): late,
			} {
				if got := th.Stats().Priorities[throttle.Medium].Slow.Late; got != want {
					t.Errorf("%v until the message, %s of %s: got %d late calls want %d", wait, th.Key(), th.Name(), got, want)
				}
			}
		})
	}
}
