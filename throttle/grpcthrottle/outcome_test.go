package grpcthrottle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// The faults of handlers travel as codes, are counted, and stay visible to interceptors further out.
func TestOutcome_OfHandlers(t *testing.T) {
	marked := throttle.MarkRejected(status.Error(codes.Aborted, "too many at once"))
	for _, tt := range []struct {
		own         error
		want, books string
	}{
		{faults.NotFound, "code = NotFound desc = " + faults.NotFound.Error(), "1 accepted/missing"},
		{faults.Unavailable(time.Minute), "code = Unavailable desc = " + faults.Unavailable(time.Minute).Error(), "1 rejected/availability"},
		{errors.New("plain"), "code = Unknown desc = plain", "1 accepted/other"},
		{status.Error(codes.DataLoss, "gr"), "code = DataLoss desc = gr", "1 accepted/other"},
		{marked, "code = Aborted desc = too many at once", "1 rejected/conflict"},
	} {
		server := newServer(t, grpcthrottle.ServerConfig{})
		for method, call := range serverCalls(server) {
			err := call(t.Context(), func(context.Context) error { return tt.own })
			if got := status.Convert(err).Err().Error(); got != "rpc error: "+tt.want { // as it travels
				t.Errorf("%s: got %q want %q", method, got, tt.want)
			}
			if !errors.Is(err, tt.own) && !errors.Is(tt.own, marked) {
				t.Errorf("%s: an outer interceptor gets %v want %v in it", method, err, tt.own)
			}
			wants(t, method+": "+tt.want, member(t, server.Group(), method), tt.books)
		}
	}
}

// A pushback in the trailer says that the server is full, and 0 that it is not.
func TestOutcome_pushback(t *testing.T) {
	busy := status.Error(codes.Unavailable, "busy")
	for pushback, full := range map[string]uint64{"1500": 1, "0": 0} {
		for _, method := range []string{buy, talk, fill, once} {
			for _, config := range []grpcthrottle.ClientConfig{{}, {Retry: often()}} { // and not repeatable
				trailer := metadata.Pairs("grpc-retry-pushback-ms", pushback)
				p := setup{client: config, shop: shop{
					buy: func(ctx context.Context, _ string) (string, error) {
						return "", errors.Join(grpc.SetTrailer(ctx, trailer), busy)
					},
					stream: func(_ string, ss grpc.ServerStream) error { ss.SetTrailer(trailer); return busy },
				}}.open(t)
				_ = p.call(t.Context(), method)
				p.wants(t, method+", pushback "+pushback, method, "1 rejected/availability", "-")
				if got := member(t, p.client.Group(), target).Stats().Priorities[throttle.Medium].Overloaded; got != full {
					t.Errorf("%s, pushback %s: got %d rejections of a full server want %d", method, pushback, got, full)
				}
			}
		}
	}
}

func TestOutcome_MessageTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := setup{serve: []grpc.ServerOption{grpc.MaxRecvMsgSize(1000)}}.open(t)
		large := wrapperspb.String(strings.Repeat("x", 2000))
		for what, err := range map[string]error{
			"to send":    p.conn.Invoke(t.Context(), buy, large, new(text), grpc.MaxCallSendMsgSize(1000)),
			"to serve":   p.conn.Invoke(t.Context(), buy, large, new(text)),
			"compressed": p.conn.Invoke(t.Context(), buy, large, new(text), grpc.UseCompressor(gzip.Name)),
			"to receive": p.buy(t.Context(), grpc.MaxCallRecvMsgSize(1)),
		} {
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("%s: got %v want ResourceExhausted", what, err)
			}
		}
		p.wants(t, "too large", buy, "4 accepted/bad", "-")
	})
}

// If the first message cannot be sent, it does not count as an answer: gRPC has ended the stream.
func TestOutcome_SendFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := setup{shop: shop{stream: func(_ string, ss grpc.ServerStream) error {
			if err := ss.SendMsg("no message"); err == nil {
				t.Error("got no error of sending what is no message")
			}
			return faults.Unavailable(0)
		}}}.open(t)
		if err := p.converse(t.Context(), talk); status.Code(err) != codes.Internal {
			t.Errorf("got %v want Internal", err)
		}
		synctest.Wait()
		p.wants(t, "nothing sent", talk, "-", "1 ignored/canceled")
	})
}

// A server whose handler passes on the failure of its backend has capacity. So its throttle ignores the answer.
func TestOutcome_Dependency(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "no room")
	full := throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return status.Code(err) == codes.Internal })}
	for name, tt := range map[string]struct {
		config  throttle.Config
		shed    bool
		backend error // of the call that the handler makes
		want    string
	}{
		"rejected":             {backend: unavailable, want: "1 ignored/availability"},
		"rejected by Classify": {config: full, backend: status.Error(codes.Internal, "full"), want: "1 ignored/availability"},
		"shed":                 {config: throttle.Config{Rand: always}, shed: true, want: "1 ignored/shed"},
	} {
		client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: tt.config}), newServer(t, grpcthrottle.ServerConfig{})
		if tt.shed {
			spoil(t, throttle.Must(client.Group().Get("")), throttle.Medium)
		}
		for method, call := range clientCalls(client) {
			err := serverCalls(server)[method](t.Context(), func(ctx context.Context) error {
				_ = call(ctx, func(context.Context) error { return tt.backend })
				return unavailable
			})
			if status.Code(err) != codes.Unavailable {
				t.Errorf("%s, %s: got %v want the answer of the handler", name, method, err)
			}
			wants(t, name+", "+method, throttle.Must(server.Group().Get(method)), tt.want)
		}
	}
}
