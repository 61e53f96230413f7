package connectthrottle_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

type text = wrapperspb.StringValue

// The procedures of the shop, one per type of stream.
const (
	buy    = "/test.Shop/Buy"    // one message each way
	fill   = "/test.Shop/Fill"   // many up, one down
	browse = "/test.Shop/Browse" // one up, many down
	talk   = "/test.Shop/Talk"   // many both ways
)

const host = "shop.test"

var procedures = []string{buy, fill, browse, talk}

var protocols = map[string]connect.ClientOption{
	"Connect": connect.WithClientOptions(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(),
}

// A handler serves all procedures of the shop. It may send any number of messages on a stream.
type handler func(ctx context.Context, h http.Header, send func(string) error) error

func handle(serve handler, options ...connect.HandlerOption) http.Handler {
	mux := http.NewServeMux()
	last := func(ctx context.Context, h http.Header) (*connect.Response[text], error) {
		answer := "sold"
		err := serve(ctx, h, func(s string) error { answer = s; return nil })
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(wrapperspb.String(answer)), nil
	}
	mux.Handle(buy, connect.NewUnaryHandler(buy, func(ctx context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
		return last(ctx, r.Header())
	}, options...))
	mux.Handle(fill, connect.NewClientStreamHandler(fill, func(ctx context.Context, s *connect.ClientStream[text]) (*connect.Response[text], error) {
		for s.Receive() {
			continue
		}
		return last(ctx, s.RequestHeader())
	}, options...))
	mux.Handle(browse, connect.NewServerStreamHandler(browse, func(ctx context.Context, r *connect.Request[text], s *connect.ServerStream[text]) error {
		return serve(ctx, r.Header(), func(m string) error { return s.Send(wrapperspb.String(m)) })
	}, options...))
	mux.Handle(talk, connect.NewBidiStreamHandler(talk, func(ctx context.Context, s *connect.BidiStream[text, text]) error {
		return serve(ctx, s.RequestHeader(), func(m string) error { return s.Send(wrapperspb.String(m)) })
	}, options...))
	return mux
}

// place is a shop and a client of it. Both have a throttle.
type place struct {
	http    *http.Client
	options []connect.ClientOption
	client  *connectthrottle.Client
	server  *connectthrottle.Server
}

// setup is what a test says about a place. Other fields have their defaults.
type setup struct {
	client connectthrottle.ClientConfig
	server connectthrottle.ServerConfig
	serve  handler
	outer  []connect.HandlerOption // outside of the server's throttle
}

func (s setup) open(t testing.TB, options ...connect.ClientOption) *place {
	t.Helper()
	s.client.Throttle, s.server.Throttle = settled(s.client.Throttle, "client"), settled(s.server.Throttle, "server")
	client, err := connectthrottle.NewClient(s.client)
	must(t, err)
	server, err := connectthrottle.NewServer(s.server)
	must(t, err)
	p := open(t, handle(s.serve, append(s.outer, connect.WithInterceptors(server.Interceptor()))...),
		append(options, connect.WithInterceptors(client.Interceptor()))...)
	p.client, p.server = client, server
	return p
}

// wants checks what the throttles have counted. An empty text is not compared.
func (p *place) wants(t testing.TB, when, procedure, client, server string) {
	t.Helper()
	if client != "" {
		counts(t, when+", client", member(t, p.client.Group(), host), client)
	}
	if server != "" {
		counts(t, when+", server", member(t, p.server.Group(), procedure), server)
	}
}

func counts(t testing.TB, when string, th *throttle.Throttle, want string) {
	t.Helper()
	if got := books(th); got != want {
		t.Errorf("%s: got %q want %q", when, got, want)
	}
}

// pipes is a listener whose connections are in memory, so that synctest controls the time.
type pipes struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: host} }
func (p pipes) Close() error   { p.close(); return nil }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func open(t testing.TB, h http.Handler, options ...connect.ClientOption) *place {
	t.Helper()
	var h2 http.Protocols
	h2.SetUnencryptedHTTP2(true)
	listener, served := pipes{conns: make(chan net.Conn)}, make(chan struct{})
	listener.closed, listener.close = context.WithCancel(context.Background())
	server := &http.Server{Handler: h, Protocols: &h2}
	go func() { defer close(served); _ = server.Serve(listener) }()
	transport := &http.Transport{Protocols: &h2, DialContext: listener.dial}
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
		<-served
	})
	return &place{http: &http.Client{Transport: transport}, options: options}
}

func (p *place) dial(procedure string) *connect.Client[text, text] {
	return connect.NewClient[text, text](p.http, "http://"+host+procedure, p.options...)
}

func (p *place) call(ctx context.Context, procedure string) error {
	client := p.dial(procedure)
	switch procedure {
	case buy:
		_, err := client.CallUnary(ctx, connect.NewRequest(wrapperspb.String("pear")))
		return err
	case fill:
		s := client.CallClientStream(ctx)
		if err := s.Send(wrapperspb.String("pear")); err != nil && !isEOF(err) {
			return err
		}
		_, err := s.CloseAndReceive()
		return err
	case browse:
		s, err := client.CallServerStream(ctx, connect.NewRequest(wrapperspb.String("pear")))
		if err != nil {
			return err
		}
		defer s.Close()
		for s.Receive() {
			continue
		}
		return s.Err()
	}
	return converse(client.CallBidiStream(ctx))
}

func converse(s *connect.BidiStreamForClient[text, text]) error {
	if err := s.Send(wrapperspb.String("pear")); err != nil && !isEOF(err) {
		return err
	}
	defer func() { _ = s.CloseResponse() }()
	_ = s.CloseRequest()
	for {
		switch _, err := s.Receive(); {
		case isEOF(err):
			return nil
		case err != nil:
			return err
		}
	}
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func sold(_ context.Context, _ http.Header, send func(string) error) error { return send("sold") }

func fails(err error) handler {
	return func(context.Context, http.Header, func(string) error) error { return err }
}

// everywhere runs a test for each protocol and procedure, each in a bubble of its own.
func everywhere(t *testing.T, test func(t *testing.T, protocol connect.ClientOption, procedure string)) {
	for name, protocol := range protocols {
		for _, procedure := range procedures {
			t.Run(name+procedure, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, protocol, procedure) })
			})
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v want nil", err)
	}
}

func member(t testing.TB, g *throttle.Group, key string) *throttle.Throttle {
	t.Helper()
	th, ok := g.Lookup(key)
	if !ok || g.Len() != 1 {
		t.Fatalf("got no throttle under %q of %d", key, g.Len())
	}
	return th
}

// books is what a throttle has counted, except for what it shed.
func books(th *throttle.Throttle) string {
	var words []string
	for _, p := range th.Stats().Priorities {
		for e := range p.Ended.All() {
			words = append(words, fmt.Sprintf("%d %v/%v", e.Calls, e.Outcome, e.Fault))
		}
		if p.InFlight != 0 {
			words = append(words, fmt.Sprintf("%d in flight", p.InFlight))
		}
	}
	return strings.Join(words, ", ")
}

// always is a Rand that sheds every call which may be shed.
func always() float64 { return 0 }

func settled(c throttle.Config, name string) throttle.Config {
	c.Name = cmp.Or(c.Name, name)
	if c.Rand == nil {
		c.Rand = throttletest.Always(1)
	}
	return c
}

func spoil(t testing.TB, g *throttle.Group, key string) {
	t.Helper()
	th, err := g.Get(key)
	must(t, err)
	for range 200 {
		_ = th.Do(context.Background(), throttle.Medium, func(context.Context) error {
			return throttle.MarkRejected(errors.New("spoilt"))
		})
	}
	if th.RejectionProbability(throttle.Medium) == 0 {
		t.Fatal("got a throttle that sheds nothing")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
