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
	"github.com/spillway-go/spillway/throttle/retry"
)

// A client asks about each call with its method and its target, which is the default key.
func TestClient_functions(t *testing.T) {
	var asked []grpcthrottle.RPC
	client := newClient(t, grpcthrottle.ClientConfig{Priority: func(_ context.Context, rpc grpcthrottle.RPC) throttle.Priority {
		asked = append(asked, rpc)
		return throttle.Low
	}})
	p := open(t, &shop{}, nil, client.DialOptions()...)
	must(t, p.buy(t.Context()))
	must(t, p.converse(t.Context(), talk))
	must(t, p.buy(throttle.WithPriority(t.Context(), throttle.High)))
	if want := []grpcthrottle.RPC{{Method: buy, Target: target}, {Method: talk, Target: target, Stream: true}}; !slices.Equal(asked, want) {
		t.Errorf("asked about %v want %v", asked, want)
	}
	if got := member(t, client.Group(), target).Stats().Priorities; got[throttle.Low].Admitted != 2 || got[throttle.High].Admitted != 1 {
		t.Errorf("admitted %+v want two low calls and a high one", got)
	}
}

// Calls after Close are sent without a throttle. A stream that is in flight is counted to its end.
func TestClient_Close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		p := open(t, &shop{}, nil, client.DialOptions()...)
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		th := member(t, client.Group(), target)
		must(t, client.Close())
		must(t, client.Close())
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		wants(t, "after Close", th, tally{inFlight: 1})
		must(t, errors.Join(s.CloseSend(), s.RecvMsg(new(text))))
		if err := s.RecvMsg(new(text)); err == nil {
			t.Error("got no end of the stream")
		}
		wants(t, "the stream", th, tally{accepted: 1})
	})
}

// A panic continues, and its call is ignored whatever Classify returns.
func TestClient_panic(t *testing.T) {
	config := throttle.Config{Classify: throttle.RejectIf(func(error) bool { return true })}
	for name, retries := range map[string]*retry.Config{"": nil, "retried": often()} {
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: config, Retry: retries})
		for method, call := range clientCalls(client) {
			got := recovered(func() { _ = call(t.Context(), func(context.Context) error { panic("boom") }) })
			if got != "boom" {
				t.Errorf("%s %s: got panic %v want boom", method, name, got)
			}
		}
		th := member(t, client.Group(), "")
		if got := endedOf(th); got != "2 ignored/panic" {
			t.Errorf("%s: got %s want two ignored panics", name, got)
		}
	}
}

// The context of the Started hook goes on to the call, on both sides.
func TestStarted(t *testing.T) {
	type key struct{}
	config := throttle.Config{Hooks: throttle.Hooks{
		Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, key{}, "hook")
		},
	}}
	client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: config}), newServer(t, grpcthrottle.ServerConfig{Throttle: config})
	for side, calls := range map[string]map[string]func(context.Context, func(context.Context) error) error{
		"client": clientCalls(client), "server": serverCalls(server),
	} {
		for method, call := range calls {
			must(t, call(t.Context(), func(ctx context.Context) error {
				if ctx.Value(key{}) != "hook" {
					t.Errorf("%s, %s: got another context than the hook's", side, method)
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
			client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: slowly}), newServer(t, grpcthrottle.ServerConfig{Throttle: slowly})
			p := open(t, &shop{
				buy: func(context.Context, string) (string, error) { time.Sleep(wait); return "sold", nil },
				stream: func(_ string, ss grpc.ServerStream) error {
					time.Sleep(wait)
					must(t, ss.SendMsg(wrapperspb.String("pear")))
					time.Sleep(time.Minute)
					return ss.SendMsg(wrapperspb.String("apple"))
				},
			}, server.ServerOptions(), client.DialOptions()...)
			must(t, p.converse(t.Context(), browse))
			must(t, p.buy(t.Context()))
			for th, want := range map[*throttle.Throttle]uint64{
				member(t, client.Group(), target): 2 * late, member(t, server.Group(), browse): late, member(t, server.Group(), buy): late,
			} {
				if got := th.Stats().Priorities[throttle.Medium].Slow.Late; got != want {
					t.Errorf("%v until the message, %s of %s: got %d late calls want %d", wait, th.Key(), th.Name(), got, want)
				}
			}
		})
	}
}
