package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const target = "passthrough:///shop"

func TestClientOutcomeOfCodes(t *testing.T) {
	rejected := map[codes.Code]throttle.Fault{
		codes.Unavailable: throttle.FaultAvailability, codes.ResourceExhausted: throttle.FaultQuota,
		codes.DeadlineExceeded: throttle.FaultTimeout,
	}
	accepted := map[codes.Code]throttle.Fault{
		codes.OK: throttle.FaultNone, codes.Unknown: throttle.FaultOther, codes.InvalidArgument: throttle.FaultBad,
		codes.NotFound: throttle.FaultMissing, codes.AlreadyExists: throttle.FaultConflict, codes.PermissionDenied: throttle.FaultPermission,
		codes.FailedPrecondition: throttle.FaultPrecondition, codes.Aborted: throttle.FaultConflict, codes.OutOfRange: throttle.FaultBad,
		codes.Unimplemented: throttle.FaultUnimplemented, codes.Internal: throttle.FaultOther, codes.DataLoss: throttle.FaultOther,
		codes.Unauthenticated: throttle.FaultAuthentication,
	}
	ignored := map[codes.Code]throttle.Fault{codes.Canceled: throttle.FaultCanceled}
	outcomes := map[throttle.Outcome]map[codes.Code]throttle.Fault{
		throttle.Accepted: accepted, throttle.Rejected: rejected, throttle.Ignored: ignored,
	}
	if n := len(rejected) + len(accepted) + len(ignored); n != 17 {
		t.Fatalf("got %d codes want the 17 that there are", n)
	}
	for outcome, byCode := range outcomes {
		for code, fault := range byCode {
			for _, kind := range []string{"unary", talk, browse, fill, once} {
				t.Run(fmt.Sprintf("%v of %v", code, kind), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { oneCode(t, kind, code, outcome, fault) })
				})
			}
		}
	}
}

// oneCode makes one call that ends with a code, and looks how client and server count it.
func oneCode(t *testing.T, kind string, code codes.Code, outcome throttle.Outcome, fault throttle.Fault) {
	client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
	p := open(t, &shop{
		buy: func(context.Context, string) (string, error) { return "", status.Error(code, "so it is") },
		stream: func(_ string, ss grpc.ServerStream) error {
			if code == codes.OK {
				return echo(ss)
			}
			return status.Error(code, "so it is")
		},
	}, server.ServerOptions(), client.DialOptions()...)
	method := kind
	var err error
	if kind == "unary" {
		method = buy
		err = p.buy(t.Context())
	} else {
		err = p.converse(t.Context(), kind)
	}
	if got := status.Code(err); got != code {
		t.Errorf("code: got %v want %v", got, code)
	}
	for th, of := range map[*throttle.Throttle]string{
		member(t, client.Group(), target): "client", member(t, server.Group(), method): "server",
	} {
		if got := faultsOf(th, outcome, fault); got != 1 {
			t.Errorf("%s: got %d calls %v with %v, want 1: %+v", of, got, outcome, fault, tallyOf(th))
		}
		if got := tallyOf(th).inFlight; got != 0 {
			t.Errorf("%s: got %d in flight want 0", of, got)
		}
	}
}

// converse makes a stream and reads it to its end.
func (p *place) converse(ctx context.Context, method string) error {
	s, err := p.stream(ctx, method)
	if err != nil {
		return err
	}
	_ = s.SendMsg(wrapperspb.String("pear")) // the status is to be received
	_ = s.CloseSend()
	err = s.RecvMsg(new(text))
	if err != nil || !shapes[method].ServerStreams {
		return err
	}
	if err = s.RecvMsg(new(text)); err.Error() == "EOF" {
		return nil
	}
	return err
}

func TestClientSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "orders", Rand: always}})
		p := open(t, &shop{
			buy:    func(context.Context, string) (string, error) { served++; return "", nil },
			stream: func(string, grpc.ServerStream) error { served++; return nil },
		}, nil, client.DialOptions()...)
		must(t, p.buy(t.Context()))
		th := member(t, client.Group(), target)
		spoil(t, th, throttle.Low)
		before, low := tallyOf(th), throttle.WithPriority(t.Context(), throttle.Low)
		unary := p.buy(low)
		_, stream := p.stream(low, talk)
		for kind, err := range map[string]error{"unary": unary, "stream": stream} {
			wantShed(t, kind, err, "throttle: orders shed a call of low priority")
			var shed *throttle.ShedError
			if !errors.As(err, &shed) || shed.Priority != throttle.Low {
				t.Errorf("%s: got %#v want a ShedError of low priority", kind, shed)
			}
			if e, ok := err.(interface{ Temporary() bool }); !ok || e.Temporary() {
				t.Errorf("%s: got an error that may be temporary", kind)
			}
		}
		if served != 1 {
			t.Errorf("got %d calls served want 1: what was shed was sent", served)
		}
		before.shed += 2
		wants(t, "after two sheds", th, before)
	})
}

// wantShed checks the error of a shed call as its caller has it.
func wantShed(t *testing.T, what string, err error, message string) {
	t.Helper()
	if !errors.Is(err, throttle.ErrShed) {
		t.Errorf("%s: got %v want a shed", what, err)
	}
	wantUnavailable(t, what, err, message, time.Second)
}

// wantUnavailable checks what the status of a shed call says.
func wantUnavailable(t *testing.T, what string, err error, message string, delay time.Duration) {
	t.Helper()
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Unavailable || s.Message() != message {
		t.Errorf("%s: got status %v want Unavailable: %s", what, s, message)
	}
	if len(s.Details()) != 1 {
		t.Fatalf("%s: got details %v want one", what, s.Details())
	}
	info, ok := s.Details()[0].(*errdetails.RetryInfo)
	if !ok || info.GetRetryDelay().AsDuration() != delay {
		t.Errorf("%s: got detail %v want a RetryInfo of %v", what, info, delay)
	}
}

func TestClientShedErr(t *testing.T) {
	plain, own := errors.New("busy"), status.Error(codes.ResourceExhausted, "come back later")
	for _, tt := range []struct {
		err  error
		want codes.Code
	}{{plain, codes.Unavailable}, {own, codes.ResourceExhausted}} {
		synctest.Test(t, func(t *testing.T) {
			client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{ShedErr: tt.err, Rand: always}})
			p := open(t, &shop{}, nil, client.DialOptions()...)
			must(t, p.buy(t.Context()))
			spoil(t, member(t, client.Group(), target), throttle.Medium)
			err := p.buy(t.Context())
			if !errors.Is(err, throttle.ErrShed) || !errors.Is(err, tt.err) || status.Code(err) != tt.want {
				t.Errorf("got %v of code %v want a shed that is %v, of code %v", err, status.Code(err), tt.err, tt.want)
			}
		})
	}
}

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

func TestClientErrorsUntouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := status.Error(codes.Unavailable, "theirs")
		client := newClient(t, grpcthrottle.ClientConfig{})
		p := open(t, &shop{}, nil, append(client.DialOptions(),
			grpc.WithChainUnaryInterceptor(func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
				return theirs
			}),
			grpc.WithChainStreamInterceptor(func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
				return nil, theirs
			}))...)
		if err := p.buy(t.Context()); err != theirs { //nolint:errorlint // the very error is wanted
			t.Errorf("got %v want the very error", err)
		}
		if s, err := p.stream(t.Context(), talk); err != theirs || s != nil { //nolint:errorlint // the very error is wanted
			t.Errorf("got %v, %v want no stream, and the very error", s, err)
		}
		wants(t, "both", member(t, client.Group(), target), tally{rejected: 2})
	})
}

func TestClientClassify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{Throttle: throttle.Config{
			Classify: throttle.RejectIf(func(err error) bool { return status.Code(err) == codes.Aborted }),
		}})
		p := open(t, &shop{buy: func(context.Context, string) (string, error) {
			return "", status.Error(codes.Aborted, "too many at once")
		}}, nil, client.DialOptions()...)
		if err := p.buy(t.Context()); status.Code(err) != codes.Aborted {
			t.Errorf("got %v want Aborted", err)
		}
		wants(t, "the user's word", member(t, client.Group(), target), tally{rejected: 1})
	})
}

func TestClientMessageTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
		p := open(t, &shop{}, append(server.ServerOptions(), grpc.MaxRecvMsgSize(1000)), client.DialOptions()...)
		large := wrapperspb.String(strings.Repeat("x", 2000))
		for what, err := range map[string]error{
			"to send":    p.conn.Invoke(t.Context(), buy, large, new(text), grpc.MaxCallSendMsgSize(1000)),
			"to serve":   p.conn.Invoke(t.Context(), buy, large, new(text)),
			"to receive": p.buy(t.Context(), grpc.MaxCallRecvMsgSize(1)),
		} {
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("%s: got %v want ResourceExhausted", what, err)
			}
		}
		th := member(t, client.Group(), target)
		if got := faultsOf(th, throttle.Accepted, throttle.FaultBad); got != 3 {
			t.Errorf("got %d calls that were bad want 3: %+v", got, tallyOf(th))
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
