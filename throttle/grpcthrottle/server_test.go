package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// TestServerAnswers sends the faults of handlers to the caller, counts them, and lets interceptors
// further out see them.
func TestServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		marked := throttle.MarkRejected(status.Error(codes.Aborted, "too many at once"))
		accepted, rejected := tally{accepted: 1}, tally{rejected: 1}
		for _, tt := range []struct {
			own   error
			want  string
			tally tally
		}{
			{faults.NotFound, "rpc error: code = NotFound desc = " + faults.NotFound.Error(), accepted},
			{faults.Unavailable(time.Minute), "rpc error: code = Unavailable desc = " + faults.Unavailable(time.Minute).Error(), rejected},
			{errors.New("plain"), "rpc error: code = Unknown desc = plain", accepted},
			{status.Error(codes.DataLoss, "gr"), "rpc error: code = DataLoss desc = gr", accepted},
			{marked, "rpc error: code = Aborted desc = too many at once", rejected},
		} {
			own, want := tt.own, tt.want
			var outer error
			server := newServer(t, grpcthrottle.ServerConfig{})
			p := open(t, &shop{
				buy:    func(context.Context, string) (string, error) { return "", own },
				stream: func(string, grpc.ServerStream) error { return own },
			}, append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(
				func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
					resp, err := h(ctx, req)
					outer = err
					return resp, err
				})}, server.ServerOptions()...))
			if got := p.buy(t.Context()); got.Error() != want {
				t.Errorf("unary: got %q want %q", got, want)
			}
			if got := p.converse(t.Context(), talk); got.Error() != want {
				t.Errorf("stream: got %q want %q", got, want)
			}
			if !errors.Is(own, marked) && !errors.Is(outer, own) {
				t.Errorf("outer interceptor: got %v want %v in it", outer, own)
			}
			wants(t, "unary: "+want, member(t, server.Group(), buy), tt.tally)
			wants(t, "stream: "+want, member(t, server.Group(), talk), tt.tally)
		}
	})
}

// If the first message cannot be sent, it does not count as an answer: gRPC has ended the stream.
func TestServerSendFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{})
		p := open(t, &shop{stream: func(_ string, ss grpc.ServerStream) error {
			if err := ss.SendMsg("no message"); err == nil {
				t.Error("got no error of sending what is no message")
			}
			return faults.Unavailable(0)
		}}, server.ServerOptions())
		if err := p.converse(t.Context(), talk); status.Code(err) != codes.Internal {
			t.Errorf("got %v want Internal", err)
		}
		synctest.Wait()
		wants(t, "nothing sent", member(t, server.Group(), talk), tally{ignored: 1})
	})
}

// If the caller disconnects, the call is ignored, whatever the handler returns.
func TestServer_Disconnect(t *testing.T) {
	for _, own := range []error{
		context.Canceled, status.Error(codes.Unavailable, "cut off"), faults.Unavailable(0), errors.New("cut off"), nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			rejectAll := func(context.Context, error) (throttle.Outcome, bool) { return throttle.Rejected, true }
			server := newServer(t, grpcthrottle.ServerConfig{Throttle: throttle.Config{Classify: rejectAll}})
			p := open(t, &shop{
				buy: func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", own },
				stream: func(_ string, ss grpc.ServerStream) error {
					<-ss.Context().Done()
					return own
				},
			}, server.ServerOptions())
			ctx, cancel := context.WithCancel(t.Context())
			go func() { time.Sleep(time.Second / 2); cancel() }()
			if err := p.buy(ctx); status.Code(err) != codes.Canceled {
				t.Errorf("unary: got %v want Canceled", err)
			}
			ctx, cancel = context.WithCancel(t.Context())
			go func() { time.Sleep(time.Second / 2); cancel() }()
			if err := p.converse(ctx, talk); status.Code(err) != codes.Canceled {
				t.Errorf("stream: got %v want Canceled", err)
			}
			synctest.Wait()
			for _, method := range []string{buy, talk} {
				th := member(t, server.Group(), method)
				wants(t, method, th, tally{ignored: 1})
				if faultsOf(th, throttle.Ignored, throttle.FaultCanceled) != 1 {
					t.Errorf("%s: got another fault than canceled for %v", method, own)
				}
			}
		})
	}
}

func TestServerPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{Throttle: throttle.Config{
			Classify: func(context.Context, error) (throttle.Outcome, bool) { return throttle.Rejected, true },
		}})
		recovering := []grpc.ServerOption{
			grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (_ any, err error) {
				defer func() { err = status.Error(codes.Internal, fmt.Sprint(recover())) }()
				return h(ctx, req)
			}),
			grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
				defer func() { err = status.Error(codes.Internal, fmt.Sprint(recover())) }()
				return h(srv, ss)
			}),
		}
		p := open(t, &shop{
			buy:    func(context.Context, string) (string, error) { panic("boom") },
			stream: func(string, grpc.ServerStream) error { panic("boom") },
		}, append(recovering, server.ServerOptions()...))
		for method, err := range map[string]error{buy: p.buy(t.Context()), talk: p.converse(t.Context(), talk)} {
			if status.Convert(err).Message() != "boom" {
				t.Errorf("%s: got %v want the panic to go on", method, err)
			}
			th := member(t, server.Group(), method)
			wants(t, method, th, tally{ignored: 1})
			if faultsOf(th, throttle.Ignored, throttle.FaultPanic) != 1 {
				t.Errorf("%s: got another fault than a panic", method)
			}
		}
	})
}

func TestServerKeyAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		server := newServer(t, grpcthrottle.ServerConfig{Key: func(_ context.Context, rpc grpcthrottle.RPC) string {
			asked = append(asked, fmt.Sprint(rpc))
			return "all"
		}})
		p := open(t, &shop{buy: func(context.Context, string) (string, error) { return "", faults.NotFound }}, server.ServerOptions())
		_ = p.buy(t.Context())
		must(t, p.converse(t.Context(), talk))
		wants(t, "both", member(t, server.Group(), "all"), tally{accepted: 2})
		if want := fmt.Sprint([]grpcthrottle.RPC{{Method: buy}, {Method: talk, Stream: true}}); fmt.Sprint(asked) != want {
			t.Errorf("asked about %v want %v", asked, want)
		}
		must(t, server.Close())
		if err := p.buy(t.Context()); status.Code(err) != codes.NotFound {
			t.Errorf("closed: got %v want NotFound", err)
		}
		must(t, p.converse(t.Context(), talk))
	})
}
