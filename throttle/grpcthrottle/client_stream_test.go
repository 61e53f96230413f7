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

	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

func TestStreamAnsweredWithFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
		p := open(t, &shop{stream: func(_ string, ss grpc.ServerStream) error {
			must(t, ss.SendHeader(metadata.Pairs("a", "b")))
			for {
				m := new(text)
				if err := ss.RecvMsg(m); err != nil {
					return status.Error(codes.Unavailable, "in the end")
				}
				must(t, ss.SendMsg(m))
			}
		}}, server.ServerOptions(), client.DialOptions()...)
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		_, err = s.Header()
		must(t, err)
		mine, theirs := member(t, client.Group(), target), member(t, server.Group(), talk)
		wants(t, "client, headers", mine, tally{inFlight: 1})
		wants(t, "server, headers", theirs, tally{inFlight: 1})
		for range 3 {
			must(t, s.SendMsg(wrapperspb.String("pear")))
			must(t, s.RecvMsg(new(text)))
			wants(t, "client, message", mine, tally{accepted: 1, inFlight: 1})
			synctest.Wait() // the server counts what it has sent
			wants(t, "server, message", theirs, tally{accepted: 1, inFlight: 1})
		}
		must(t, s.CloseSend())
		for range 2 {
			if err := s.RecvMsg(new(text)); status.Code(err) != codes.Unavailable {
				t.Errorf("got %v want Unavailable", err)
			}
			wants(t, "client, end", mine, tally{accepted: 1})
			wants(t, "server, end", theirs, tally{accepted: 1})
		}
	})
}

// Streams end in every possible way, before and after their first message.
func TestStreamEnds(t *testing.T) {
	ends := []struct {
		name       string
		end        func(p *place, s grpc.ClientStream, cancel func())
		unanswered tally // if no message came before
	}{
		{"EOF", func(_ *place, s grpc.ClientStream, _ func()) {
			_ = s.SendMsg(wrapperspb.String("EOF"))
			_ = s.RecvMsg(new(text))
		}, tally{accepted: 1}},
		{"error", func(_ *place, s grpc.ClientStream, _ func()) {
			_ = s.SendMsg(wrapperspb.String("error"))
			_ = s.RecvMsg(new(text))
		}, tally{rejected: 1}},
		{"context canceled, read", func(_ *place, s grpc.ClientStream, cancel func()) {
			cancel()
			_ = s.RecvMsg(new(text))
		}, tally{ignored: 1}},
		{"context canceled, not read", func(_ *place, _ grpc.ClientStream, cancel func()) { cancel() }, tally{ignored: 1}},
		{"connection closed", func(p *place, _ grpc.ClientStream, _ func()) { _ = p.conn.Close() }, tally{ignored: 1}},
		{"own mistake", func(_ *place, s grpc.ClientStream, _ func()) { _ = s.SendMsg("no message") }, tally{accepted: 1}},
		{"server stopped", func(p *place, s grpc.ClientStream, _ func()) {
			p.stop()
			_ = s.RecvMsg(new(text))
		}, tally{rejected: 1}},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			for _, answered := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					client := newClient(t, grpcthrottle.ClientConfig{})
					p := open(t, &shop{stream: obey}, nil, client.DialOptions()...)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s, err := p.stream(ctx, talk)
					must(t, err)
					th, want := member(t, client.Group(), target), tt.unanswered
					if answered {
						must(t, s.SendMsg(wrapperspb.String("pear")))
						must(t, s.RecvMsg(new(text)))
						wants(t, "with a message, in flight", th, tally{accepted: 1, inFlight: 1})
						want = tally{accepted: 1}
					}
					tt.end(p, s, cancel)
					synctest.Wait()
					wants(t, fmt.Sprintf("at the end, answered %v", answered), th, want)
				})
			}
		})
	}
}

func obey(_ string, ss grpc.ServerStream) error {
	for {
		m := new(text)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		switch m.GetValue() {
		case "EOF":
			return nil
		case "error":
			return status.Error(codes.Unavailable, "as you like")
		}
		if err := ss.SendMsg(m); err != nil {
			return err
		}
	}
}

// The call ends even if an inner interceptor removes OnFinish.
func TestStreamWithoutFinish(t *testing.T) {
	for last, want := range map[string]tally{"EOF": {accepted: 1}, "error": {rejected: 1}, "mistake": {accepted: 1}} {
		synctest.Test(t, func(t *testing.T) {
			client := newClient(t, grpcthrottle.ClientConfig{})
			p := open(t, &shop{stream: obey}, nil, append(client.DialOptions(), grpc.WithChainStreamInterceptor(withoutOnFinish))...)
			s, err := p.stream(t.Context(), talk)
			must(t, err)
			if last == "mistake" {
				_ = s.SendMsg("no message")
			} else {
				must(t, s.SendMsg(wrapperspb.String(last)))
				_ = s.RecvMsg(new(text))
			}
			wants(t, last, member(t, client.Group(), target), want)
		})
	}
}

// The outcome comes from the status, not from the EOF of SendMsg.
func TestStreamSendAfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		p := open(t, &shop{stream: func(string, grpc.ServerStream) error { return status.Error(codes.ResourceExhausted, "no") }},
			nil, client.DialOptions()...)
		s, err := p.stream(t.Context(), talk)
		must(t, err)
		synctest.Wait()
		if err := s.SendMsg(wrapperspb.String("pear")); !errors.Is(err, io.EOF) {
			t.Errorf("got %v want EOF", err)
		}
		th := member(t, client.Group(), target)
		wants(t, "EOF of sending", th, tally{inFlight: 1})
		_ = s.RecvMsg(new(text))
		wants(t, "status", th, tally{rejected: 1})
	})
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
