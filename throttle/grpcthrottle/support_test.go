package grpcthrottle_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const target = "passthrough:///shop"

func recovered(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}

// wantShed checks the status of a shed call.
func wantShed(t *testing.T, what string, err error, delay time.Duration) {
	t.Helper()
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Unavailable || s.Message() != "throttle: call shed" || len(s.Details()) != 1 {
		t.Fatalf("%s: got %v want Unavailable: throttle: call shed, with one detail", what, s)
	}
	if info, ok := s.Details()[0].(*errdetails.RetryInfo); !ok || info.GetRetryDelay().AsDuration() != delay {
		t.Errorf("%s: got detail %v want a RetryInfo of %v", what, info, delay)
	}
}

func (p *place) call(ctx context.Context, method string) error {
	if method == buy {
		return p.buy(ctx)
	}
	return p.converse(ctx, method)
}

func (p *place) converse(ctx context.Context, method string) error {
	s, err := p.stream(ctx, method)
	if err != nil {
		return err
	}
	return finish(s, method)
}

// finish sends a message, and receives to the end of a stream.
func finish(s grpc.ClientStream, method string) error {
	_ = s.SendMsg(wrapperspb.String("pear")) // the status is to be received
	_ = s.CloseSend()
	err := s.RecvMsg(new(text))
	if err != nil || !shapes[method].ServerStreams {
		return err
	}
	for err == nil {
		err = s.RecvMsg(new(text))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type okError struct{ _ []int }

func (okError) Error() string              { return "all is well" }
func (okError) GRPCStatus() *status.Status { return status.New(codes.OK, "") }

type noStatusError struct{}

func (noStatusError) Error() string              { return "no status" }
func (noStatusError) GRPCStatus() *status.Status { return nil }

type text = wrapperspb.StringValue

// shop is a service written by hand: one unary method, and a stream of each shape.
type shop struct {
	buy    func(ctx context.Context, item string) (string, error)
	stream func(method string, ss grpc.ServerStream) error
}

// failing is a shop whose handlers return an error.
func failing(err error) shop {
	return shop{
		buy:    func(context.Context, string) (string, error) { return "", err },
		stream: func(string, grpc.ServerStream) error { return err },
	}
}

const (
	buy    = "/test.Shop/Buy"
	browse = "/test.Shop/Browse" // one message up, many down
	fill   = "/test.Shop/Fill"   // many up, one down
	talk   = "/test.Shop/Talk"   // many both ways
	once   = "/test.Shop/Once"   // one each way: a stream to clients, unary to servers
)

var shapes = map[string]*grpc.StreamDesc{
	browse: {StreamName: "Browse", ServerStreams: true},
	fill:   {StreamName: "Fill", ClientStreams: true},
	talk:   {StreamName: "Talk", ServerStreams: true, ClientStreams: true},
	once:   {StreamName: "Once"},
}

func (s *shop) register(server *grpc.Server) {
	desc := grpc.ServiceDesc{ServiceName: "test.Shop", HandlerType: (*any)(nil)}
	desc.Methods = []grpc.MethodDesc{{MethodName: "Buy", Handler: s.unary(buy)}, {MethodName: "Once", Handler: s.unary(once)}}
	for method, shape := range shapes {
		if method == once {
			continue
		}
		d := *shape
		d.Handler = func(_ any, ss grpc.ServerStream) error {
			if s.stream == nil {
				return echo(ss)
			}
			return s.stream(method, ss)
		}
		desc.Streams = append(desc.Streams, d)
	}
	server.RegisterService(&desc, s)
}

func (s *shop) unary(method string) func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
	handler := func(ctx context.Context, req any) (any, error) {
		if s.buy == nil {
			return req, nil
		}
		answer, err := s.buy(ctx, req.(*text).GetValue())
		return wrapperspb.String(answer), err
	}
	return func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		req := new(text)
		if err := decode(req); err != nil {
			return nil, err
		}
		if interceptor == nil {
			return handler(ctx, req)
		}
		return interceptor(ctx, req, &grpc.UnaryServerInfo{Server: s, FullMethod: method}, handler)
	}
}

func echo(ss grpc.ServerStream) error {
	last := new(text)
	for {
		m := new(text)
		switch err := ss.RecvMsg(m); {
		case errors.Is(err, io.EOF):
			return ss.SendMsg(last)
		case err != nil:
			return err
		}
		last = m
	}
}

// place is a shop and a connection to it. Both have a throttle.
type place struct {
	client *grpcthrottle.Client
	server *grpcthrottle.Server
	conn   *grpc.ClientConn
	stop   func() // the server
}

// setup is what a test says about a place. Other fields have their defaults.
type setup struct {
	client grpcthrottle.ClientConfig
	server grpcthrottle.ServerConfig
	shop   shop
	serve  []grpc.ServerOption // outside of the server's throttle
	dial   []grpc.DialOption   // inside of the client's
}

func (s setup) open(t testing.TB) *place {
	t.Helper()
	p := &place{client: newClient(t, s.client), server: newServer(t, s.server)}
	dialer, stop := served(&s.shop, append(s.serve, p.server.ServerOptions()...)...)
	p.conn, p.stop = connect(target, append(append(p.client.DialOptions(), dialer), s.dial...)...), stop
	t.Cleanup(func() {
		_ = p.conn.Close()
		stop()
	})
	return p
}

// wants checks what the throttles have counted. A text "-" is not compared.
func (p *place) wants(t testing.TB, when, method, client, server string) {
	t.Helper()
	if client != "-" {
		wants(t, when+", client", member(t, p.client.Group(), target), client)
	}
	if server != "-" {
		wants(t, when+", server", member(t, p.server.Group(), method), server)
	}
}

func (p *place) buy(ctx context.Context, opts ...grpc.CallOption) error {
	return p.conn.Invoke(ctx, buy, wrapperspb.String("pear"), new(text), opts...)
}

func (p *place) stream(ctx context.Context, method string) (grpc.ClientStream, error) {
	return p.conn.NewStream(ctx, shapes[method], method)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v want nil", err)
	}
}

func member(t testing.TB, g *throttle.Group, key string) *throttle.Throttle {
	t.Helper()
	before := g.Len()
	th, err := g.Get(key)
	must(t, err)
	if g.Len() != before {
		t.Fatalf("got no throttle under %q of %d", key, before)
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

func shedBy(th *throttle.Throttle) (n uint64) {
	for _, p := range th.Stats().Priorities {
		n += p.Shed.Sum()
	}
	return n
}

func wants(t testing.TB, when string, th *throttle.Throttle, want string) {
	t.Helper()
	equal(t, when, books(th), want)
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

// always is a Rand that sheds every call which may be shed.
func always() float64 { return 0 }

func newClient(t testing.TB, c grpcthrottle.ClientConfig) *grpcthrottle.Client {
	t.Helper()
	c.Throttle = settled(c.Throttle, "client")
	client, err := grpcthrottle.NewClient(c)
	must(t, err)
	return client
}

func newServer(t testing.TB, c grpcthrottle.ServerConfig) *grpcthrottle.Server {
	t.Helper()
	c.Throttle = settled(c.Throttle, "server")
	server, err := grpcthrottle.NewServer(c)
	must(t, err)
	return server
}

func settled(c throttle.Config, name string) throttle.Config {
	c.Name = cmp.Or(c.Name, name)
	if c.Rand == nil {
		c.Rand = throttletest.Always(1)
	}
	return c
}

// calls are calls by their methods. Each calls its function in place of a connection, or as a handler.
type calls = map[string]func(ctx context.Context, do func(context.Context) error) error

func clientCalls(c *grpcthrottle.Client) calls {
	unary, stream := c.UnaryInterceptor(), c.StreamInterceptor()
	return calls{
		buy: func(ctx context.Context, send func(context.Context) error) error {
			return unary(ctx, buy, nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				return send(ctx)
			})
		},
		talk: func(ctx context.Context, send func(context.Context) error) error {
			_, err := stream(ctx, shapes[talk], nil, talk,
				func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
					return nil, send(ctx)
				})
			return err
		},
	}
}

func serverCalls(s *grpcthrottle.Server) calls {
	unary, stream := s.UnaryInterceptor(), s.StreamInterceptor()
	streaming := func(method string) func(context.Context, func(context.Context) error) error {
		info := &grpc.StreamServerInfo{FullMethod: method, IsClientStream: shapes[method].ClientStreams}
		return func(ctx context.Context, handle func(context.Context) error) error {
			return stream(nil, sink{ctx: ctx}, info, func(_ any, ss grpc.ServerStream) error { return handle(ss.Context()) })
		}
	}
	return calls{
		buy: func(ctx context.Context, handle func(context.Context) error) error {
			_, err := unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(ctx context.Context, _ any) (any, error) {
				return nil, handle(ctx)
			})
			return err
		},
		talk: streaming(talk), browse: streaming(browse),
	}
}

type sink struct {
	grpc.ServerStream
	ctx context.Context
}

func (s sink) Context() context.Context { return s.ctx }
func (sink) SendMsg(any) error          { return nil }
func (sink) SetTrailer(metadata.MD)     {}

// spoil makes a throttle reject calls until it sheds. With draws of 0, only the minimum rate gets through.
func spoil(t testing.TB, th *throttle.Throttle, p throttle.Priority) {
	t.Helper()
	for range 200 {
		_ = th.Do(context.Background(), p, func(context.Context) error {
			return throttle.MarkRejected(errors.New("spoilt"))
		})
	}
	if th.RejectionProbability(p) == 0 {
		t.Fatal("got a throttle that sheds nothing")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
