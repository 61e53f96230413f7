package main

import (
	"context"
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The names of calls over HTTP and gRPC, as they are, and with a throttle. There is no network in them: it would hide what is measured.
const (
	bareTransport   = "HTTP client, bare base in memory"
	ourTransport    = "HTTP client, Transport"
	bareHandler     = "HTTP server, bare handler"
	ourMiddleware   = "HTTP server, Middleware"
	bareInvoker     = "gRPC client, bare invoker"
	ourClient       = "gRPC client, unary interceptor"
	bareUnary       = "gRPC server, bare handler"
	ourServer       = "gRPC server, unary interceptor"
	ourTransportNot = "HTTP client, Transport, shed"
	ourClientNot    = "gRPC client, unary interceptor, shed"
)

// wires are calls in the forms that most users make them in.
func wires() []*subject {
	return append(append(httpClients(), httpServers()...), append(grpcClients(), grpcServers()...)...)
}

// sure is for configurations that are known to be right.
func sure[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// spoilt returns a throttle's Config with which everything is shed that may be, and spoil makes a throttle do it.
func spoilt() throttle.Config { return throttle.Config{Name: "bench", Rand: unlucky} }

func spoil(t *throttle.Throttle) {
	for range 100_000 {
		if call, err := t.Admit(context.Background(), throttle.Medium); err == nil {
			call.Finish(throttle.Rejected)
		}
	}
}

// wasShed is how a subject that sheds is good. A probe in between is not.
func wasShed(err error) bool { return errors.Is(err, throttle.ErrShed) }

// text is a body in memory.
type text struct{ left int }

func (b *text) Read(p []byte) (int, error) {
	n := min(b.left, len(p))
	b.left -= n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*text) Close() error { return nil }

// instant is a base transport that answers at once.
type instant struct{ header http.Header }

func (t instant) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: t.header, Body: &text{left: 100}, Request: r}, nil
}

func httpClients() []*subject {
	request := sure(http.NewRequestWithContext(context.Background(), http.MethodGet, "http://backend/", http.NoBody))
	base := instant{header: http.Header{}}
	exchange := func(transport http.RoundTripper) func() error {
		return func() error {
			response, err := transport.RoundTrip(request)
			if err != nil {
				return err
			}
			var room [128]byte
			for err == nil {
				_, err = response.Body.Read(room[:])
			}
			return response.Body.Close()
		}
	}
	ours := sure(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{Throttle: throttle.Config{Name: "bench"}}))
	closed := sure(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{Throttle: spoilt()}))
	spoil(sure(closed.Group().Get("backend")))
	return []*subject{
		{name: bareTransport, op: exchange(base), pair: true},
		{name: ourTransport, op: exchange(ours), pair: true},
		{name: ourTransportNot, op: exchange(closed), pair: true, good: wasShed, least: 0.95},
	}
}

// nowhere is a ResponseWriter that nobody reads.
type nowhere struct{ header http.Header }

func (w nowhere) Header() http.Header         { return w.header }
func (w nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w nowhere) WriteHeader(int)             {}

func httpServers() []*subject {
	request := sure(http.NewRequestWithContext(context.Background(), http.MethodGet, "http://backend/", http.NoBody))
	page := []byte("pears")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
	serve := func(h http.Handler) func() error {
		w := nowhere{header: http.Header{}}
		return func() error {
			h.ServeHTTP(w, request)
			return nil
		}
	}
	ours := httpthrottle.Middleware(bench(throttle.Config{}), httpthrottle.MiddlewareConfig{})(handler)
	return []*subject{{name: bareHandler, op: serve(handler), pair: true}, {name: ourMiddleware, op: serve(ours), pair: true}}
}

func grpcClients() []*subject {
	const method = "/bench.Service/Method"
	ctx := context.Background()
	invoker := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	call := func(c *grpcthrottle.Client) func() error {
		interceptor := c.UnaryInterceptor()
		return func() error { return interceptor(ctx, method, nil, nil, nil, invoker) }
	}
	ours := sure(grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "bench"}}))
	closed := sure(grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: spoilt()}))
	spoil(sure(closed.Group().Get("")))
	return []*subject{
		{name: bareInvoker, op: func() error { return invoker(ctx, method, nil, nil, nil) }, pair: true},
		{name: ourClient, op: call(ours), pair: true},
		{name: ourClientNot, op: call(closed), pair: true, good: wasShed, least: 0.95},
	}
}

func grpcServers() []*subject {
	ctx, info := context.Background(), &grpc.UnaryServerInfo{FullMethod: "/bench.Service/Method"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	ours := sure(grpcthrottle.NewServer(grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Name: "bench"},
	})).UnaryInterceptor()
	return []*subject{
		{name: bareUnary, pair: true, op: func() error {
			_, err := handler(ctx, nil)
			return err
		}},
		{name: ourServer, pair: true, op: func() error {
			_, err := ours(ctx, nil, info, handler)
			return err
		}},
	}
}
