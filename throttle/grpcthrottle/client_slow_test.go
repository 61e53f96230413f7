package grpcthrottle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// wantLate checks how many calls of a throttle were late, and how many have no answer.
func wantLate(t *testing.T, what string, th *throttle.Throttle, late uint64, open int64) {
	t.Helper()
	s := th.Stats()
	var got uint64
	for _, p := range s.Priorities {
		got += p.Slow.Late
	}
	if got != late || s.Slow.Open != open {
		t.Errorf("%s: got %d late calls and %d without an answer, want %d and %d", what, got, s.Slow.Open, late, open)
	}
}

// TestSlow: the first message is what counts, on both sides. A stream may go on for any time.
func TestSlow(t *testing.T) {
	slowly := throttle.Config{Slow: 100 * time.Millisecond}
	for name, c := range map[string]struct {
		wait time.Duration // until the first message
		late uint64
	}{
		"quick": {50 * time.Millisecond, 0},
		"slow":  {time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: slowly}), newServer(t, grpcthrottle.ServerConfig{Throttle: slowly})
				p := open(t, &shop{
					buy: func(context.Context, string) (string, error) { time.Sleep(c.wait); return "sold", nil },
					stream: func(_ string, ss grpc.ServerStream) error {
						time.Sleep(c.wait)
						must(t, ss.SendMsg(wrapperspb.String("pear")))
						time.Sleep(time.Minute)
						return ss.SendMsg(wrapperspb.String("apple"))
					},
				}, server.ServerOptions(), client.DialOptions()...)
				s, err := p.stream(t.Context(), browse)
				must(t, err)
				must(t, s.SendMsg(wrapperspb.String("pear")))
				must(t, s.CloseSend())
				must(t, s.RecvMsg(new(text)))
				synctest.Wait() // the server counts what it has sent
				mine, theirs := member(t, client.Group(), target), member(t, server.Group(), browse)
				wantLate(t, "first message, client", mine, c.late, 0)
				wantLate(t, "first message, server", theirs, c.late, 0)
				must(t, s.RecvMsg(new(text))) // after a minute
				wantLate(t, "last message, client", mine, c.late, 0)
				wantLate(t, "last message, server", theirs, c.late, 0)

				must(t, p.buy(t.Context()))
				wantLate(t, "unary, client", mine, 2*c.late, 0)
				wantLate(t, "unary, server", member(t, server.Group(), buy), c.late, 0)
			})
		})
	}
}
