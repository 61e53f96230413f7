package grpcthrottle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// overloaded returns how many rejections of a throttle were those of a full backend.
func overloaded(th *throttle.Throttle) (n uint64) {
	for _, p := range th.Stats().Priorities {
		n += p.Overloaded
	}
	return n
}

// Which answers say that a server is full, to the client and to the throttle of the server itself.
func TestOutcome_overloaded(t *testing.T) {
	info := detailed(t, codes.Unavailable, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	busy := status.Error(codes.Unavailable, "busy")
	for name, c := range map[string]struct {
		err                      error
		pushback                 string
		rejected, client, server uint64
	}{
		"unavailable":        {busy, "", 1, 0, 0},
		"RetryInfo":          {info, "", 1, 1, 1},
		"fault with a delay": {faults.Unavailable(time.Second), "", 1, 1, 1},
		"pushback":           {busy, "1500", 1, 1, 0},
		"retry at once":      {busy, "0", 1, 0, 0},
		"exhausted":          {status.Error(codes.ResourceExhausted, "quota"), "", 1, 1, 1},
		"too large":          {status.Error(codes.ResourceExhausted, "message larger than max"), "", 0, 0, 0},
		"deadline":           {status.Error(codes.DeadlineExceeded, "late"), "", 1, 0, 0},
		"marked":             {throttle.MarkOverloaded(errors.New("full")), "", 1, 0, 1},
	} {
		for _, kind := range []string{"unary", "retried", talk, browse, fill, once} {
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config := grpcthrottle.ClientConfig{}
					if kind == "retried" {
						config.Retry = often() // and not repeatable
					}
					client, server := newClient(t, config), newServer(t, grpcthrottle.ServerConfig{})
					trailer := metadata.Pairs("grpc-retry-pushback-ms", c.pushback)
					if c.pushback == "" {
						trailer = nil
					}
					p := open(t, &shop{
						buy: func(ctx context.Context, _ string) (string, error) {
							_ = grpc.SetTrailer(ctx, trailer)
							return "", c.err
						},
						stream: func(_ string, ss grpc.ServerStream) error { ss.SetTrailer(trailer); return c.err },
					}, server.ServerOptions(), client.DialOptions()...)
					method := kind
					if kind == "unary" || kind == "retried" {
						method = buy
						_ = p.buy(t.Context())
					} else {
						_ = p.converse(t.Context(), kind)
					}
					near, far := member(t, client.Group(), target), member(t, server.Group(), method)
					if got := tallyOf(far).rejected; got != c.rejected {
						t.Errorf("server: got %d rejected want %d", got, c.rejected)
					}
					if got := overloaded(near); got != c.client {
						t.Errorf("client: got %d overloaded want %d: %+v", got, c.client, tallyOf(near))
					}
					if got := overloaded(far); got != c.server {
						t.Errorf("server: got %d overloaded want %d", got, c.server)
					}
				})
			})
		}
	}
}
