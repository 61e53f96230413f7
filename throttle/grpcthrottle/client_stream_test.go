package grpcthrottle_test

import (
	"context"
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

	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

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
		if extra := opts[:10][n]; extra != nil {
			t.Errorf("%d options: got %v written into the caller's", n, extra)
		}
	}
}
