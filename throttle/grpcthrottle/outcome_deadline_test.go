package grpcthrottle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

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
		if status.Code(err) != codes.Canceled {
			t.Errorf("got %v want Canceled", err)
		}
		wants(t, "client", member(t, client.Group(), ""), "1 rejected/canceled")
	})
}
