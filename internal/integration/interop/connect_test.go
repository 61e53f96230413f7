package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The procedures of a service of connect-go. A message asks for a status. On the wire, the streams of one
// direction are as those of both.
const (
	unary      = "/test.Shop/Unary"
	bidiStream = "/test.Shop/BidiStream"
)

type (
	question = testgrpc.SimpleRequest
	answer   = testgrpc.SimpleResponse
)

// obedient is a service that answers what a question asks for.
type obedient struct{ arrived chan struct{} }

// obey returns the answer to a question, or the error that it asks for. If the question asks for the end
// of a context, obey reports that the call has arrived and waits for the caller to give up.
func (o obedient) obey(ctx context.Context, q *question) (*answer, error) {
	switch code := connect.Code(q.GetResponseStatus().GetCode()); code {
	case 0:
		return &answer{Username: q.GetResponseStatus().GetMessage()}, nil
	case connect.CodeCanceled:
		close(o.arrived)
		<-ctx.Done()
		return nil, ctx.Err()
	default:
		return nil, connect.NewError(code, errors.New("as you wish"))
	}
}

func (o obedient) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(unary, connect.NewUnaryHandler(unary, func(ctx context.Context, r *connect.Request[question]) (*connect.Response[answer], error) {
		a, err := o.obey(ctx, r.Msg)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(a), nil
	}))
	mux.Handle(bidiStream, connect.NewBidiStreamHandler(bidiStream, func(ctx context.Context, s *connect.BidiStream[question, answer]) error {
		for {
			q, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			var a *answer
			if err == nil {
				a, err = o.obey(ctx, q)
			}
			if err == nil {
				err = s.Send(a)
			}
			if err != nil {
				return err
			}
		}
	}))
	return mux
}

// ask makes a call with three messages, if there can be several, and returns its error.
func ask(ctx context.Context, client *connect.Client[question, answer], procedure string, q *question) error {
	if procedure == unary {
		_, err := client.CallUnary(ctx, connect.NewRequest(q))
		return err
	}
	s := client.CallBidiStream(ctx)
	for range 3 {
		_ = s.Send(q) // Receive returns the error
		if _, err := s.Receive(); err != nil {
			_ = s.CloseResponse()
			return err
		}
	}
	_ = s.CloseRequest()
	_, err := s.Receive()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, s.CloseResponse())
}

// connectCases are the errors that a call can end with, by code, and how it is counted.
var connectCases = map[connect.Code]tally{
	0:                             {accepted: 1},
	connect.CodeUnavailable:       {rejected: 1},
	connect.CodeResourceExhausted: {rejected: 1},
	connect.CodeCanceled:          {ignored: 1},
	connect.CodeNotFound:          {accepted: 1},
	connect.CodeInternal:          {accepted: 1},
}

// connectProtocols are the options of a client for each protocol.
var connectProtocols = map[string]connect.ClientOption{
	"Connect": connect.WithClientOptions(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(),
}

// connectPair is a service of connect-go and a client over TCP. Nil groups are sides without a throttle.
type connectPair struct {
	url            string
	client         *http.Client
	calls, answers *throttle.Group
	arrived        chan struct{} // closed by a handler that waits for its caller to give up
}

// serveConnect serves a handler with HTTP/2 without TLS. It stops with the test.
func serveConnect(t *testing.T, h http.Handler) *connectPair {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: h, Protocols: &protocols, ReadHeaderTimeout: time.Minute}
	listener := throttle.Must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &connectPair{url: "http://" + listener.Addr().String(), client: &http.Client{Transport: transport}}
}

// openHTTP opens a pair with httpthrottle, which sees only HTTP.
func (p pairing) openHTTP(t *testing.T) *connectPair {
	service := obedient{make(chan struct{})}
	h := service.handler()
	var answers *throttle.Group
	if p.server {
		answers = throttle.Must(throttle.NewGroup(func(string) throttle.Config { return throttle.Config{Name: "interop"} }, throttle.GroupConfig{}))
		h = httpthrottle.Middleware(nil, httpthrottle.MiddlewareConfig{Group: answers})(h)
	}
	opened := serveConnect(t, h)
	opened.answers, opened.arrived = answers, service.arrived
	if p.client {
		transport := throttle.Must(httpthrottle.NewTransport(opened.client.Transport, httpthrottle.TransportConfig{Throttle: throttle.Config{Name: "backends"}}))
		opened.client, opened.calls = &http.Client{Transport: transport}, transport.Group()
	}
	return opened
}

func (p *connectPair) check(t *testing.T, protocol connect.ClientOption, procedure string, code connect.Code, want tally) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if code == connect.CodeCanceled {
		go func() { <-p.arrived; cancel() }()
	}
	client := connect.NewClient[question, answer](p.client, p.url+procedure, protocol)
	err := ask(ctx, client, procedure, &question{ResponseStatus: &testgrpc.EchoStatus{Code: int32(code), Message: "ours"}})
	if code == 0 && err != nil || code != 0 && connect.CodeOf(err) != code {
		t.Errorf("%v: got %v", code, err)
	}
	for side, g := range map[string]*throttle.Group{"client": p.calls, "server": p.answers} {
		if g != nil {
			counts(t, fmt.Sprint(side, " of ", code), g, []tally{want})
		}
	}
}

// TestConnect_HTTP calls a service of connect-go in its three protocols. Throttles see only HTTP: the code of a Connect stream is in the
// body, and the deadline of a call is not in the context of the request. The tests of connectthrottle do so with its interceptors.
func TestConnect_HTTP(t *testing.T) {
	for side, p := range pairings {
		for name, protocol := range connectProtocols {
			for _, procedure := range []string{unary, bidiStream} {
				t.Run(side+"/"+name+procedure, func(t *testing.T) {
					t.Parallel()
					for code, want := range connectCases {
						if name != "Connect" || procedure == unary || want.rejected == 0 {
							p.openHTTP(t).check(t, protocol, procedure, code, want)
						}
					}
				})
			}
		}
	}
}
