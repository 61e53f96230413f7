package grpcthrottle_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

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
