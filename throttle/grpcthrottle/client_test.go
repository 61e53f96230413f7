package grpcthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// A client asks about each call with its method and its target, and a server with its method.
func TestRPC(t *testing.T) {
	var asked []grpcthrottle.RPC
	p := setup{
		client: grpcthrottle.ClientConfig{Priority: func(_ context.Context, rpc grpcthrottle.RPC) throttle.Priority {
			asked = append(asked, rpc)
			return throttle.Low
		}},
		server: grpcthrottle.ServerConfig{Key: func(_ context.Context, rpc grpcthrottle.RPC) string {
			asked = append(asked, rpc)
			return "all"
		}},
	}.open(t)
	must(t, p.buy(t.Context()))
	must(t, p.converse(t.Context(), talk))
	must(t, p.buy(throttle.WithPriority(t.Context(), throttle.High)))
	if want := []grpcthrottle.RPC{
		{Method: buy, Target: target},
		{Method: buy},
		{Method: talk, Target: target, Stream: true},
		{Method: talk, Stream: true},
		{Method: buy},
	}; !slices.Equal(asked, want) {
		t.Errorf("asked about %v want %v", asked, want)
	}
	if got := member(t, p.client.Group(), target).Stats().Priorities; got[throttle.Low].Admitted != 2 || got[throttle.High].Admitted != 1 {
		t.Errorf("admitted %+v want two low calls and a high one", got)
	}
	wants(t, "server", member(t, p.server.Group(), "all"), "3 accepted/none")
}

// Calls after Close pass no throttle. A stream that is in flight is counted to its end.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := setup{}.open(t)
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		synctest.Wait()
		client, server := member(t, p.client.Group(), target), member(t, p.server.Group(), talk)
		must(t, errors.Join(p.client.Close(), p.client.Close(), p.server.Close(), p.server.Close()))
		must(t, p.buy(t.Context()))
		must(t, p.converse(t.Context(), talk))
		wants(t, "client, after Close", client, "1 in flight")
		wants(t, "server, after Close", server, "1 in flight")
		must(t, errors.Join(s.CloseSend(), s.RecvMsg(new(text))))
		if err := s.RecvMsg(new(text)); err == nil {
			t.Error("got no end of the stream")
		}
		synctest.Wait()
		wants(t, "client, the stream", client, "1 accepted/none")
		wants(t, "server, the stream", server, "1 accepted/none")
	})
}

// A panic continues, and its call is ignored whatever Classify returns.
func TestPanic(t *testing.T) {
	config := throttle.Config{Classify: throttle.RejectIf(func(error) bool { return true })}
	all := func(context.Context, grpcthrottle.RPC) string { return "" }
	client, server := newClient(t, grpcthrottle.ClientConfig{Throttle: config}), newServer(t, grpcthrottle.ServerConfig{Throttle: config, Key: all})
	retrying := newClient(t, grpcthrottle.ClientConfig{Throttle: config, Retry: often()})
	for name, side := range map[string]struct {
		calls
		group *throttle.Group
		want  string
	}{
		"client": {clientCalls(client), client.Group(), "2 ignored/panic"}, "retrying client": {clientCalls(retrying), retrying.Group(), "2 ignored/panic"},
		"server": {serverCalls(server), server.Group(), "3 ignored/panic"},
	} {
		for method, call := range side.calls {
			got := recovered(func() { _ = call(t.Context(), func(context.Context) error { panic("boom") }) })
			equal(t, name+", "+method+": panic", got, any("boom"))
		}
		wants(t, name, member(t, side.group, ""), side.want)
	}
}

type streamEnd struct {
	end    func(p *place, s grpc.ClientStream, cancel func())
	want   string // if no message came before
	finish bool   // gRPC itself ends the call, with OnFinish
}

// Streams end in every possible way, before and after their first message. The header decides nothing.
func TestStreamEnds(t *testing.T) {
	say := func(s grpc.ClientStream, word string) { _ = s.SendMsg(wrapperspb.String(word)) }
	receive := func(s grpc.ClientStream) { _ = s.RecvMsg(new(text)) }
	for name, c := range map[string]streamEnd{
		"EOF":   {func(_ *place, s grpc.ClientStream, _ func()) { say(s, "EOF"); receive(s) }, "1 accepted/none", false},
		"error": {func(_ *place, s grpc.ClientStream, _ func()) { say(s, "error"); receive(s) }, "1 rejected/quota", false},
		"error, read after sending": {func(_ *place, s grpc.ClientStream, _ func()) {
			say(s, "error")
			synctest.Wait()
			say(s, "pear")
			receive(s)
		}, "1 rejected/quota", false},
		"own mistake":                {func(_ *place, s grpc.ClientStream, _ func()) { _ = s.SendMsg("no message") }, "1 accepted/other", false},
		"context canceled, read":     {func(_ *place, s grpc.ClientStream, cancel func()) { cancel(); receive(s) }, "1 ignored/canceled", false},
		"server stopped":             {func(p *place, s grpc.ClientStream, _ func()) { p.stop(); receive(s) }, "1 rejected/availability", false},
		"context canceled, not read": {func(_ *place, _ grpc.ClientStream, cancel func()) { cancel() }, "1 ignored/canceled", true},
		"connection closed":          {func(p *place, _ grpc.ClientStream, _ func()) { _ = p.conn.Close() }, "1 ignored/canceled", true},
	} {
		for _, answered := range []bool{false, true} {
			for _, finish := range []bool{true, c.finish} { // whether an inner interceptor removes OnFinish
				t.Run(fmt.Sprintf("%s, answered %v, finish %v", name, answered, finish), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { c.check(t, answered, finish) })
				})
			}
		}
	}
}

func (c streamEnd) check(t *testing.T, answered, finish bool) {
	s := setup{shop: shop{stream: obey}}
	if !finish {
		s.dial = []grpc.DialOption{grpc.WithChainStreamInterceptor(withoutOnFinish)}
	}
	p := s.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := p.stream(ctx, talk)
	must(t, err)
	_, err = stream.Header()
	must(t, err)
	p.wants(t, "header", talk, "1 in flight", "1 in flight")
	want := c.want
	if answered {
		want = "1 accepted/none"
		for range 2 {
			must(t, stream.SendMsg(wrapperspb.String("pear")))
			must(t, stream.RecvMsg(new(text)))
			synctest.Wait() // the server counts what it has sent
			p.wants(t, "message", talk, "1 accepted/none, 1 in flight", "1 accepted/none, 1 in flight")
		}
	}
	c.end(p, stream, cancel)
	synctest.Wait()
	p.wants(t, "end", talk, want, "-")
	_ = p.conn.Close()
	synctest.Wait()
	if answered {
		p.wants(t, "end", talk, want, want)
	}
}

func obey(_ string, ss grpc.ServerStream) error {
	if err := ss.SendHeader(metadata.Pairs("a", "b")); err != nil {
		return err
	}
	for {
		m := new(text)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		switch m.GetValue() {
		case "EOF":
			return nil
		case "error":
			return status.Error(codes.ResourceExhausted, "as you like")
		}
		if err := ss.SendMsg(m); err != nil {
			return err
		}
	}
}

func TestStreamOptionsKept(t *testing.T) {
	client := newClient(t, grpcthrottle.ClientConfig{})
	for n := range 7 {
		opts := make([]grpc.CallOption, n, 10)
		for i := range opts {
			opts[i] = grpc.WaitForReady(i%2 == 0)
		}
		_, _ = client.StreamInterceptor()(t.Context(), shapes[talk], nil, talk,
			func(_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, got ...grpc.CallOption) (grpc.ClientStream, error) {
				if len(got) != n+2 || !slices.Equal(got[:n], opts) {
					t.Errorf("got options %v want %v and two more", got, opts)
				}
				return nil, io.ErrUnexpectedEOF
			}, opts...)
		equal(t, fmt.Sprintf("written into the caller's %d options", n), opts[:10][n], nil)
	}
}
