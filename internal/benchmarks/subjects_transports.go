package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// sheddingConfig returns a Config that sheds every call whose probability is above 0.
func sheddingConfig() throttle.Config { return throttle.Config{Name: "bench", Rand: drawShed} }

func startShedding(t *throttle.Throttle) {
	for range 100_000 {
		if call, err := t.Admit(context.Background(), throttle.Medium); err == nil {
			call.Finish(throttle.Rejected)
		}
	}
}

// isShed reports whether a call was shed. A probe in between is not.
func isShed(err error) bool { return errors.Is(err, throttle.ErrShed) }

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

// instantTransport is a base transport that answers at once. One in eight answers says that the server is
// calm.
type instantTransport struct{ header, calm http.Header }

func (t instantTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	header := t.header
	if rand.Uint32()%8 == 0 {
		header = t.calm
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: &text{left: 100}, Request: r}, nil
}

func httpClients() []*subject {
	request := throttle.Must(http.NewRequestWithContext(context.Background(), http.MethodGet, "http://backend/", http.NoBody))
	report := protocol.FormatLoad(throttle.LoadReport{Answers: 8})
	base := instantTransport{http.Header{"Date": {"today"}}, http.Header{protocol.LoadHeader: {report}}}
	exchange := func(transport http.RoundTripper) func() error {
		return func() error {
			response, err := transport.RoundTrip(request)
			if err != nil {
				return err
			}
			var buffer [128]byte
			for err == nil {
				_, err = response.Body.Read(buffer[:])
			}
			return response.Body.Close()
		}
	}
	ours := throttle.Must(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{Throttle: throttle.Config{Name: "bench"}}))
	listening := throttle.Must(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "bench"}, Listen: anyone,
	}))
	shedding := throttle.Must(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{Throttle: sheddingConfig()}))
	startShedding(throttle.Must(shedding.Group().Get("backend")))
	return []*subject{
		{name: "HTTP client, bare base in memory", op: exchange(base), pair: true},
		{name: "HTTP client, Transport", op: exchange(ours), pair: true},
		{name: "HTTP client, Transport, Listen", op: exchange(listening), pair: true},
		{name: "HTTP client, Transport, shed", op: exchange(shedding), pair: true, good: isShed, least: 0.95},
	}
}

func anyone(*http.Request) bool { return true }

// discardWriter is a ResponseWriter that discards the response.
type discardWriter struct{ header http.Header }

func (w discardWriter) Header() http.Header         { return w.header }
func (w discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w discardWriter) WriteHeader(int)             {}

func httpServers() []*subject {
	request := throttle.Must(http.NewRequestWithContext(context.Background(), http.MethodGet, "http://backend/", http.NoBody))
	page := []byte("pears")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
	serve := func(h http.Handler) func() error {
		w := discardWriter{header: http.Header{}}
		return func() error {
			h.ServeHTTP(w, request)
			return nil
		}
	}
	behind := func(t *throttle.Throttle, c httpthrottle.MiddlewareConfig) func() error {
		return serve(httpthrottle.Middleware(t, c)(handler))
	}
	quiet, tells := httpthrottle.MiddlewareConfig{}, httpthrottle.MiddlewareConfig{Tell: anyone}
	shedding := throttle.Must(throttle.New(sheddingConfig()))
	startShedding(shedding)
	refusing := httpthrottle.Middleware(shedding, httpthrottle.MiddlewareConfig{})(handler)
	refuse := func() error { // which writes headers
		refusing.ServeHTTP(discardWriter{header: http.Header{}}, request)
		return nil
	}
	return []*subject{
		{name: "HTTP server, bare handler", op: serve(handler), pair: true},
		{name: "HTTP server, Middleware", op: behind(bench(throttle.Config{}), quiet), pair: true},
		{name: "HTTP server, Middleware, no ProcessorWait", op: behind(bench(throttle.Config{ProcessorWait: -1}), quiet), pair: true},
		{name: "HTTP server, Middleware, Tell", op: behind(bench(throttle.Config{}), tells)}, // it writes to the one header
		{name: "HTTP server, Middleware, shed", op: refuse, pair: true},
	}
}

func grpcClients() []*subject {
	const method = "/bench.Service/Method"
	ctx := context.Background()
	invoker := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	call := func(c *grpcthrottle.Client) func() error {
		interceptor := c.UnaryInterceptor()
		return func() error { return interceptor(ctx, method, nil, nil, nil, invoker) }
	}
	ours := throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: throttle.Config{Name: "bench"}}))
	shedding := throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{Throttle: sheddingConfig()}))
	startShedding(throttle.Must(shedding.Group().Get("")))
	return []*subject{
		{name: "gRPC client, bare invoker", op: func() error { return invoker(ctx, method, nil, nil, nil) }, pair: true},
		{name: "gRPC client, unary interceptor", op: call(ours), pair: true},
		{name: "gRPC client, unary interceptor, shed", op: call(shedding), pair: true, good: isShed, least: 0.95},
	}
}

func grpcServers() []*subject {
	ctx, info := context.Background(), &grpc.UnaryServerInfo{FullMethod: "/bench.Service/Method"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	behind := func(c throttle.Config) func() error {
		interceptor := throttle.Must(grpcthrottle.NewServer(grpcthrottle.ServerConfig{Throttle: c})).UnaryInterceptor()
		return func() error {
			_, err := interceptor(ctx, nil, info, handler)
			return err
		}
	}
	return []*subject{
		{name: "gRPC server, bare handler", pair: true, op: func() error {
			_, err := handler(ctx, nil)
			return err
		}},
		{name: "gRPC server, unary interceptor", pair: true, op: behind(throttle.Config{Name: "bench"})},
		{name: "gRPC server, unary interceptor, no ProcessorWait", pair: true, op: behind(throttle.Config{Name: "bench", ProcessorWait: -1})},
	}
}
