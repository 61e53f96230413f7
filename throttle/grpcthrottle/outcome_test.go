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
				got := member(t, p.client.Group(), target).Stats().Priorities[throttle.Medium].Overloaded
				equal(t, method+", pushback "+pushback+": rejections of a full server", got, full)
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
			equal(t, what, status.Code(err), codes.ResourceExhausted)
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
		equal(t, "code", status.Code(p.converse(t.Context(), talk)), codes.Internal)
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
			equal(t, name+", "+method+": the answer of the handler", status.Code(err), codes.Unavailable)
			wants(t, name+", "+method, throttle.Must(server.Group().Get(method)), tt.want)
		}
	}
}

// TestOutcome_Deadline has callers whose deadline passes, callers that cancel, and handlers that wait for that.
// Package protocol decides about them.
func TestOutcome_Deadline(t *testing.T) {
	const ms = time.Millisecond
	rejectCanceled := throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return errors.Is(err, context.Canceled) })}
	acceptLate := throttle.Config{Classify: throttle.AcceptIf(func(err error) bool { return status.Code(err) == codes.DeadlineExceeded })}
	for name, c := range map[string]struct {
		config          throttle.Config
		timeout, cancel time.Duration // of the caller; 0: none
		want            string
	}{
		"deadline":                      {timeout: 500 * ms, want: "rejected/timeout"},
		"Classify about a deadline":     {config: acceptLate, timeout: 500 * ms, want: "accepted/timeout"},
		"canceled":                      {cancel: 500 * ms, want: "ignored/canceled"},
		"canceled late":                 {cancel: time.Second, want: "rejected/canceled"},
		"Classify about a cancellation": {config: rejectCanceled, cancel: 500 * ms, want: "ignored/canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, grpcthrottle.ServerConfig{Throttle: c.config})
			for method, call := range serverCalls(server) {
				ctx, cancel := context.WithCancel(t.Context())
				if c.timeout > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.timeout)
				}
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				_ = call(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
				cancel()
				want := c.want
				if method == talk && strings.HasSuffix(want, "canceled") {
					want = "ignored/canceled" // the client was still sending
				}
				wants(t, name+", "+method, member(t, server.Group(), method), "1 "+want)
			}
		})
	}
}

func TestOutcome_FirstMessageAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		must(t, server.StreamInterceptor()(nil, sink{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: talk}, func(_ any, ss grpc.ServerStream) error {
			time.Sleep(2 * time.Second)
			return ss.SendMsg(nil)
		}))
		wants(t, "server", member(t, server.Group(), talk), "1 rejected/timeout")
	})
}

// streaming is a stream that the client cancels after a minute without a message from the server.
type streaming struct {
	method  string
	handler func(ss grpc.ServerStream) error // before it waits for the end
	client  func(s grpc.ClientStream) error
	caller  string
	served  string
}

func TestOutcome_StreamCanceledAfter(t *testing.T) {
	active, silent := "1 ignored/canceled", "1 rejected/canceled"
	nothing := func(grpc.ServerStream) error { return nil }
	read := func(ss grpc.ServerStream) error { return ss.RecvMsg(new(text)) }
	readAll := func(ss grpc.ServerStream) error {
		for ss.RecvMsg(new(text)) == nil {
		}
		return nil
	}
	header := func(ss grpc.ServerStream) error {
		return errors.Join(read(ss), ss.SendHeader(metadata.Pairs("a", "b")))
	}
	request := func(s grpc.ClientStream) error { return s.SendMsg(new(text)) }
	requestAll := func(s grpc.ClientStream) error { return errors.Join(s.SendMsg(new(text)), s.CloseSend()) }
	readHeader := func(s grpc.ClientStream) error {
		_, err := s.Header()
		return errors.Join(err, s.CloseSend())
	}
	for name, c := range map[string]streaming{
		"hung":                        {browse, read, requestAll, silent, silent},
		"hung before it has read":     {browse, nothing, request, silent, silent},
		"header":                      {browse, header, func(s grpc.ClientStream) error { return errors.Join(requestAll(s), readHeader(s)) }, active, active},
		"header, the client looks on": {browse, header, requestAll, silent, active},
		"upload":                      {fill, readAll, request, active, active},
		"upload, header":              {fill, header, func(s grpc.ClientStream) error { return errors.Join(request(s), readHeader(s)) }, active, active},
		"upload, hung at the end":     {fill, readAll, requestAll, silent, silent},
		"upload, hung before the end": {fill, read, requestAll, silent, active},
		"both ways":                   {talk, read, request, active, active},
		"both ways, hung at the end":  {talk, readAll, requestAll, silent, silent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.check(t) })
		})
	}
}

func (c streaming) check(t *testing.T) {
	p := setup{shop: shop{stream: func(_ string, ss grpc.ServerStream) error {
		_ = c.handler(ss) // an upload ends with its context
		<-ss.Context().Done()
		return ss.Context().Err()
	}}}.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := p.stream(ctx, c.method)
	must(t, err)
	must(t, c.client(s))
	time.Sleep(time.Minute)
	cancel()
	synctest.Wait()
	p.wants(t, "silent for a minute", c.method, c.caller, c.served)
}

func TestOutcome_StreamNeverOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := clientCalls(client)[talk](ctx, func(ctx context.Context) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		})
		equal(t, "code", status.Code(err), codes.Canceled)
		wants(t, "client", member(t, client.Group(), ""), "1 rejected/canceled")
	})
}
