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
