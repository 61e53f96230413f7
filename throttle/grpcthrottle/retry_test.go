package grpcthrottle_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// often is a retry.Config whose budget never runs out and which adds no random delay.
func often() *retry.Config {
	return &retry.Config{Budget: retry.Budget{Share: 1, Reserve: 1e6}, Rand: func() float64 { return 0 }}
}

func anyCall(context.Context, grpcthrottle.RPC) bool { return true }

// retrierOf returns the only Retrier of a client.
func retrierOf(t *testing.T, c *grpcthrottle.Client) *retry.Retrier {
	t.Helper()
	all := slices.Collect(c.Retriers().All())
	if len(all) != 1 {
		t.Fatalf("got %d Retriers want 1", len(all))
	}
	return all[0]
}

func TestRetry_OfEachAnswer(t *testing.T) {
	info := func(d time.Duration) error {
		s, err := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	busy := status.Error(codes.Unavailable, "busy")
	for _, tt := range []struct {
		name     string
		err      error
		pushback []string
		attempts int
		after    time.Duration
		denied   retry.Reason
	}{
		{"unavailable", busy, nil, 3, 0, retry.ReasonAttempts},
		{"exhausted", status.Error(codes.ResourceExhausted, "quota"), nil, 3, 0, retry.ReasonAttempts},
		{"not found", status.Error(codes.NotFound, "no"), nil, 1, 0, retry.ReasonOnce + 1},
		{"RetryInfo", info(2 * time.Second), nil, 3, 4 * time.Second, retry.ReasonAttempts},
		{"long RetryInfo", info(time.Minute), nil, 1, 0, retry.ReasonPushback},
		{"pushback", busy, []string{"1500"}, 3, 3 * time.Second, retry.ReasonAttempts},
		{"negative pushback", busy, []string{"-1"}, 1, 0, retry.ReasonPushback},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newClient(t, grpcthrottle.ClientConfig{Retry: often(), Repeatable: anyCall})
				attempts := 0
				p := open(t, &shop{buy: func(ctx context.Context, _ string) (string, error) {
					for _, ms := range tt.pushback {
						_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", ms))
					}
					return "", tt.err
				}}, counting(&attempts), client.DialOptions()...)
				begun := time.Now()
				err := p.buy(t.Context())
				if attempts != tt.attempts || time.Since(begun) != tt.after || status.Convert(err).Message() != status.Convert(tt.err).Message() {
					t.Errorf("got %d attempts in %v, error %v want %d in %v", attempts, time.Since(begun), err, tt.attempts, tt.after)
				}
				if s := retrierOf(t, client).Stats(); tt.denied < retry.ReasonOnce+1 && s.Denied.Count(tt.denied) != 1 || s.Sent != uint64(tt.attempts-1) {
					t.Errorf("got %+v want one denial for %v", s, tt.denied)
				}
			})
		})
	}
}

func TestRetry_OnlyRepeatableUnaryCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := status.Error(codes.Unavailable, "busy")
		for name, repeatable := range map[string]func(context.Context, grpcthrottle.RPC) bool{
			"default": nil,
			"another": func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Method != buy || rpc.Target != target },
		} {
			client := newClient(t, grpcthrottle.ClientConfig{Retry: often(), Repeatable: repeatable})
			attempts := 0
			p := open(t, &shop{buy: func(context.Context, string) (string, error) { return "", busy }}, counting(&attempts), client.DialOptions()...)
			_ = p.buy(t.Context())
			if s := retrierOf(t, client).Stats(); attempts != 1 || s.Denied.Count(retry.ReasonOnce) != 1 {
				t.Errorf("%s: got %d attempts, %+v want one", name, attempts, s)
			}
		}
		client := newClient(t, grpcthrottle.ClientConfig{Retry: often(), Repeatable: anyCall})
		attempts := 0
		p := open(t, &shop{stream: func(string, grpc.ServerStream) error { return busy }}, counting(&attempts), client.DialOptions()...)
		if err := p.converse(t.Context(), browse); err == nil || attempts != 1 {
			t.Errorf("stream: got %d attempts, error %v want one", attempts, err)
		}
	})
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
			client := newClient(t, grpcthrottle.ClientConfig{
				Retry: often(), Repeatable: anyCall,
				Send: func(context.Context, grpcthrottle.RPC) bool { return tt.send },
			})
			var arrived []string
			server := newServer(t, grpcthrottle.ServerConfig{
				LowerRetries: tt.lower, Trust: throttle.Trust{Peer: func(context.Context) bool { return true }},
				RetryHooks: retry.Hooks{Arrived: func(_ context.Context, e retry.ArrivalEvent) { arrived = append(arrived, e.String()) }},
			})
			var numbers []int
			var priorities []throttle.Priority
			p := open(t, &shop{buy: func(ctx context.Context, _ string) (string, error) {
				numbers = append(numbers, retry.FromContext(ctx).Number)
				priorities = append(priorities, throttle.PriorityFromContext(ctx, throttle.High))
				if md, _ := metadata.FromIncomingContext(ctx); md.Get("own")[0] != "1" {
					t.Errorf("got metadata %v", md)
				}
				return "", status.Error(codes.Unavailable, "busy")
			}}, server.ServerOptions(), client.DialOptions()...)
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
			th := member(t, client.Group(), target).Stats().Priorities
			if th[throttle.Important].Admitted != 1 || th[throttle.Medium].Admitted != 2 {
				t.Errorf("%s: the client admitted %+v want one important, two medium", name, th)
			}
		})
	}
}

// A retry of gRPC's own has the metadata too. With both layers, the numbers add up.
func TestRetry_OfGRPCItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{LowerRetries: true})
		var numbers []int
		p := open(t, &shop{buy: func(ctx context.Context, _ string) (string, error) {
			numbers = append(numbers, retry.FromContext(ctx).Number)
			return "", status.Error(codes.Unavailable, "busy")
		}}, server.ServerOptions(), grpc.WithDefaultServiceConfig(retries))
		_ = p.buy(t.Context())
		if !slices.Equal(numbers, []int{1, 2, 3, 4}) {
			t.Errorf("got attempts %v want 1 to 4", numbers)
		}
		numbers = nil
		for text, want := range map[string]int{"1": 2, "98": 99, "99": 1, "x": 1} {
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(grpcthrottle.AttemptsKey, text))
			info := &grpc.UnaryServerInfo{FullMethod: buy}
			_, _ = server.UnaryInterceptor()(ctx, nil, info, func(ctx context.Context, _ any) (any, error) {
				if n := retry.FromContext(ctx).Number; n != want {
					t.Errorf("%q: got attempt %d want %d", text, n, want)
				}
				return nil, nil
			})
		}
	})
}

func TestRetry_AShedIsNotRetried(t *testing.T) {
	client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Rand: always}, Retry: often(), Repeatable: anyCall})
	attempts := 0
	p := open(t, &shop{}, counting(&attempts), client.DialOptions()...)
	must(t, p.buy(t.Context()))
	spoil(t, member(t, client.Group(), target), throttle.Low)
	err := p.buy(throttle.WithPriority(t.Context(), throttle.Low))
	wantShed(t, "a client that retries", err, "throttle: call shed")
	if s := retrierOf(t, client).Stats(); attempts != 1 || s.Calls[0] != 1 || s.Sent != 0 {
		t.Errorf("got %d attempts, %+v", attempts, s)
	}
}

func TestRetry_APanicEndsTheCall(t *testing.T) {
	client := newClient(t, grpcthrottle.ClientConfig{Retry: often(), Repeatable: anyCall})
	call := func() {
		_ = client.UnaryInterceptor()(t.Context(), buy, nil, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { panic("broken") })
	}
	if recovered(call) != "broken" {
		t.Error("the panic did not continue")
	}
	wants(t, "after a panic", member(t, client.Group(), ""), tally{ignored: 1})
}
