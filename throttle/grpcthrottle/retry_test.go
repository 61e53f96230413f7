package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func often() *retry.Config {
	return &retry.Config{Budget: retry.Budget{Share: 1, Reserve: 1e6}, Rand: func() float64 { return 0 }}
}

func retrierOf(t *testing.T, c *grpcthrottle.Client) *retry.Retrier {
	t.Helper()
	all := slices.Collect(c.Retriers().All())
	if len(all) != 1 {
		t.Fatalf("got %d Retriers want 1", len(all))
	}
	return all[0]
}

// Package retry decides about a retry of a repeatable call. The client gives it the error, and the pushback in the trailer.
// It never retries a stream.
func TestRetry_OfEachAnswer(t *testing.T) {
	busy := status.Error(codes.Unavailable, "busy")
	const notAsked = retry.ReasonOff
	toShop := func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Method == buy && rpc.Target == target }
	for name, tt := range map[string]struct {
		err        error
		pushback   string
		repeatable rpcs
		attempts   int
		after      time.Duration
		denied     retry.Reason
	}{
		"unavailable":       {busy, "", toShop, 3, 0, retry.ReasonAttempts},
		"not found":         {status.Error(codes.NotFound, "no"), "", toShop, 1, 0, notAsked},
		"RetryInfo":         {faults.Unavailable(2 * time.Second), "", toShop, 3, 4 * time.Second, retry.ReasonAttempts},
		"pushback":          {busy, "1500", toShop, 3, 3 * time.Second, retry.ReasonAttempts},
		"negative pushback": {busy, "-1", toShop, 1, 0, retry.ReasonPushback},
		"default":           {busy, "", nil, 1, 0, retry.ReasonOnce},
	} {
		synctest.Test(t, func(t *testing.T) {
			attempts, streams := 0, 0
			p := setup{
				client: grpcthrottle.ClientConfig{Retry: often(), Repeatable: tt.repeatable},
				shop: shop{stream: func(string, grpc.ServerStream) error { streams++; return tt.err }, buy: func(ctx context.Context, _ string) (string, error) {
					attempts++
					if tt.pushback != "" {
						_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", tt.pushback))
					}
					return "", tt.err
				}},
			}.open(t)
			begun := time.Now()
			if err := p.buy(t.Context()); attempts != tt.attempts || time.Since(begun) != tt.after || err == nil {
				t.Errorf("%s: got %d attempts in %v, error %v want %d in %v", name, attempts, time.Since(begun), err, tt.attempts, tt.after)
			}
			if s := retrierOf(t, p.client).Stats(); tt.denied != notAsked && s.Denied.Count(tt.denied) != 1 || s.Sent != uint64(tt.attempts-1) {
				t.Errorf("%s: got %+v want one denial for %v", name, s, tt.denied)
			}
			if err := p.converse(t.Context(), browse); err == nil || streams != 1 {
				t.Errorf("%s: got error %v, and a stream %d times want once", name, err, streams)
			}
		})
	}
}

// The number of the attempt and the lower priority reach the server, which counts the retries.
func TestRetry_BetweenClientAndServer(t *testing.T) {
	for name, tt := range map[string]struct {
		send, lower bool
		want        throttle.Priority // of retries
	}{
		"sent":              {send: true, lower: true, want: throttle.Medium},
		"not sent":          {want: throttle.Medium},
		"not sent, lowered": {lower: true, want: throttle.Low},
	} {
		synctest.Test(t, func(t *testing.T) {
			var arrived []string
			var numbers []int
			var priorities []throttle.Priority
			p := setup{
				client: grpcthrottle.ClientConfig{Retry: often(), Repeatable: answersRPC(true), Send: answersRPC(tt.send)},
				server: grpcthrottle.ServerConfig{
					LowerRetries: tt.lower, Trust: throttle.Trust{Peer: func(context.Context) bool { return true }},
					RetryHooks: retry.Hooks{Arrived: func(_ context.Context, e retry.ArrivalEvent) { arrived = append(arrived, e.String()) }},
				},
				shop: shop{buy: func(ctx context.Context, _ string) (string, error) {
					numbers = append(numbers, retry.FromContext(ctx).Number)
					priorities = append(priorities, throttle.PriorityFromContext(ctx, throttle.High))
					if md, _ := metadata.FromIncomingContext(ctx); md.Get("own")[0] != "1" {
						t.Errorf("got metadata %v", md)
					}
					return "", status.Error(codes.Unavailable, "busy")
				}},
			}.open(t)
			ctx := metadata.AppendToOutgoingContext(throttle.WithPriority(t.Context(), throttle.Important), "own", "1")
			_ = p.buy(ctx)
			first := throttle.Medium
			if tt.send {
				first = throttle.Important
			}
			if want := []throttle.Priority{first, tt.want, tt.want}; !slices.Equal(numbers, []int{1, 2, 3}) || !slices.Equal(priorities, want) {
				t.Errorf("%s: got attempts %v of %v want 1, 2, 3 of %v", name, numbers, priorities, want)
			}
			if want := []string{"retry server: attempt 2 arrived", "retry server: attempt 3 arrived"}; !slices.Equal(arrived, want) {
				t.Errorf("%s: got %q want %q", name, arrived, want)
			}
			th := member(t, p.client.Group(), target).Stats().Priorities
			if th[throttle.Important].Admitted != 1 || th[throttle.Medium].Admitted != 2 {
				t.Errorf("%s: the client admitted %+v want one important, two medium", name, th)
			}
		})
	}
}

// A retry of gRPC's own has the metadata too. With both layers, the numbers add up.
func TestRetry_OfGRPCItself(t *testing.T) {
	server := newServer(t, grpcthrottle.ServerConfig{})
	for texts, want := range map[string]int{"1": 2, "2 1": 4, "98": 99, "98 1": 99, "99": 1, "x": 1} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{"grpc-previous-rpc-attempts": strings.Fields(texts)})
		must(t, serverCalls(server)[buy](ctx, func(ctx context.Context) error {
			equal(t, "attempt after "+texts, retry.FromContext(ctx).Number, want)
			return nil
		}))
	}
}

// retries is a retry policy of gRPC's own: four attempts within a second.
func retries() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s",
		"maxBackoff": "0.1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`)
}

// counting counts the calls that arrive, and lets a function refuse them.
func counting(n *int, refuse func() error) grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		*n++
		return ctx, refuse()
	})
}

type late struct{}

func (late) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (late) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (late) HandleConn(context.Context, stats.ConnStats)                       {}

func (late) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutHeader); ok {
		time.Sleep(time.Second)
	}
}

// If the last retry ends while sending, gRPC returns a wrapped EOF without a status. The server has refused every attempt.
func TestRetryPolicyOfGRPC_endsWhileSending(t *testing.T) {
	down := status.Error(codes.Unavailable, "down")
	for _, kind := range []string{"unary", "stream, ended by SendMsg", "stream, ended by RecvMsg"} {
		for _, finish := range []bool{true, false} { // whether gRPC calls OnFinish, or an inner interceptor removes it
			t.Run(fmt.Sprintf("%s, finish %v", kind, finish), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					attempts := 0
					s := setup{dial: []grpc.DialOption{retries(), grpc.WithStatsHandler(late{})}}
					s.serve = []grpc.ServerOption{counting(&attempts, func() error {
						if attempts == 1 && kind == "stream, ended by RecvMsg" {
							return nil
						}
						return down
					})}
					s.shop.stream = func(_ string, ss grpc.ServerStream) error { return errors.Join(ss.RecvMsg(new(text)), down) }
					if !finish {
						s.dial = append(s.dial, grpc.WithChainStreamInterceptor(withoutOnFinish))
					}
					p := s.open(t)
					var err error
					if kind == "unary" {
						err = p.buy(t.Context())
					} else {
						stream, opened := p.stream(t.Context(), talk)
						must(t, opened)
						if err = stream.SendMsg(wrapperspb.String("pear")); err == nil {
							err = stream.RecvMsg(new(text))
						}
					}
					if _, known := status.FromError(err); attempts != 4 || known || !errors.Is(errors.Unwrap(err), io.EOF) {
						t.Errorf("got %v after %d attempts want an EOF inside of an error without status, after 4", err, attempts)
					}
					p.wants(t, "refused", talk, "1 rejected/availability", "-")
				})
			})
		}
	}
}

func withoutOnFinish(
	ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return streamer(ctx, d, cc, method)
}
