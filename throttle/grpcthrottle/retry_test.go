package grpcthrottle_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/deixis/faults"

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

// Package retry decides about a retry. The client gives it the error, and the pushback in the trailer.
func TestRetry_OfEachAnswer(t *testing.T) {
	busy := status.Error(codes.Unavailable, "busy")
	const notAsked = retry.ReasonOff
	for name, tt := range map[string]struct {
		err      error
		pushback string
		attempts int
		after    time.Duration
		denied   retry.Reason
	}{
		"unavailable":       {busy, "", 3, 0, retry.ReasonAttempts},
		"not found":         {status.Error(codes.NotFound, "no"), "", 1, 0, notAsked},
		"RetryInfo":         {faults.Unavailable(2 * time.Second), "", 3, 4 * time.Second, retry.ReasonAttempts},
		"pushback":          {busy, "1500", 3, 3 * time.Second, retry.ReasonAttempts},
		"negative pushback": {busy, "-1", 1, 0, retry.ReasonPushback},
	} {
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			p := setup{
				client: grpcthrottle.ClientConfig{Retry: often(), Repeatable: answersRPC(true)},
				shop: shop{buy: func(ctx context.Context, _ string) (string, error) {
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
		})
	}
}

func TestRetry_OnlyRepeatableUnaryCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		method     string
		repeatable rpcs
	}{
		"default": {buy, nil}, "stream": {browse, answersRPC(true)},
		"another": {buy, func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Method != buy || rpc.Target != target }},
	} {
		attempts := 0
		p := setup{
			client: grpcthrottle.ClientConfig{Retry: often(), Repeatable: tt.repeatable},
			shop:   failing(status.Error(codes.Unavailable, "busy")), serve: []grpc.ServerOption{counting(&attempts, refuseNone)},
		}.open(t)
		err := p.call(t.Context(), tt.method)
		if once := retrierOf(t, p.client).Stats().Denied.Count(retry.ReasonOnce); attempts != 1 || err == nil || once == 1 != (tt.method == buy) {
			t.Errorf("%s: got %d attempts, error %v, %d denials want one attempt", name, attempts, err, once)
		}
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
	synctest.Test(t, func(t *testing.T) {
		var numbers []int
		p := setup{shop: shop{buy: func(ctx context.Context, _ string) (string, error) {
			numbers = append(numbers, retry.FromContext(ctx).Number)
			return "", status.Error(codes.Unavailable, "busy")
		}}, dial: []grpc.DialOption{retries()}}.open(t)
		_ = p.buy(t.Context())
		if !slices.Equal(numbers, []int{1, 2, 3, 4}) {
			t.Errorf("got attempts %v want 1 to 4", numbers)
		}
		for text, want := range map[string]int{"1": 2, "98": 99, "99": 1, "x": 1} {
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(grpcthrottle.AttemptsKey, text))
			must(t, serverCalls(p.server)[buy](ctx, func(ctx context.Context) error {
				if n := retry.FromContext(ctx).Number; n != want {
					t.Errorf("%q: got attempt %d want %d", text, n, want)
				}
				return nil
			}))
		}
	})
}
