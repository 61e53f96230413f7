package backends

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

const (
	retryRate = 200 // calls per second
	oneIn     = 20  // calls for each that the backend rejects
)

func off() throttle.Config { return throttle.Config{Name: "backend", Mode: throttle.ModeOff} }

// backend counts what arrives. It can be killed, which cuts its connections, and started again on its address.
type backend struct {
	grpc_health_v1.UnimplementedHealthServer

	protocol, address string
	kill              func()
	requests          atomic.Uint64
}

func (b *backend) start(t *testing.T) {
	t.Helper()
	listener := throttle.Must(net.Listen("tcp", cmp.Or(b.address, "127.0.0.1:0")))
	b.address = listener.Addr().String()
	if b.protocol == "grpc" {
		server := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(server, b)
		go func() { _ = server.Serve(listener) }()
		b.kill = server.Stop
	} else {
		server := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }()
		b.kill = func() { _ = server.Close() }
	}
	t.Cleanup(b.kill)
}

func (b *backend) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if b.requests.Add(1)%oneIn == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (b *backend) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if b.requests.Add(1)%oneIn == 0 {
		return nil, status.Error(codes.Unavailable, "busy")
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// client makes calls that are retried, and counts what it sends.
type client struct {
	backend       *backend
	attempts      atomic.Uint64 // below the retries
	retriers      func() *retry.Group
	call          func() error
	calls, failed uint64
}

func (c *client) useHTTP() {
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		c.attempts.Add(1)
		return http.DefaultTransport.RoundTrip(r)
	})
	transport := throttle.Must(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{Throttle: off(), Retry: &retry.Config{}}))
	c.retriers = transport.Retriers
	web := &http.Client{Transport: transport}
	c.call = func() error {
		response, err := web.Get("http://" + c.backend.address)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
		return errors.Join(err, response.Body.Close())
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *client) useGRPC(t *testing.T) {
	t.Helper()
	throttles := throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{
		Throttle: off(), Retry: &retry.Config{},
		Repeatable: func(context.Context, grpcthrottle.RPC) bool { return true },
	}))
	c.retriers = throttles.Retriers
	counting := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		c.attempts.Add(1)
		return invoker(ctx, method, req, reply, cc, opts...)
	})
	options := append(throttles.DialOptions(), counting, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn := throttle.Must(grpc.NewClient("passthrough:///"+c.backend.address, options...))
	t.Cleanup(func() { _ = conn.Close() })
	health := grpc_health_v1.NewHealthClient(conn)
	c.call = func() error {
		_, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		return err
	}
}

// run makes calls at the rate for a time.
func (c *client) run(length time.Duration) (calls, failed uint64) {
	var wg sync.WaitGroup
	var failures atomic.Uint64
	tick := time.NewTicker(time.Second / retryRate)
	defer tick.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); <-tick.C {
		calls++
		wg.Go(func() {
			if c.call() != nil {
				failures.Add(1)
			}
		})
	}
	wg.Wait()
	return calls, failures.Load()
}

// TestBackendIsKilledAndComesBack compares the totals of the client with what it has sent. The tests of httpthrottle and grpcthrottle
// check that retries arrive as such, those of otelthrottle compare the metrics.
func TestBackendIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			b := &backend{protocol: protocol}
			b.start(t)
			c := &client{backend: b}
			if protocol == "grpc" {
				c.useGRPC(t)
			} else {
				c.useHTTP()
			}
			calls, failed := c.phase(t, 3*time.Second)
			if failed*50 > calls {
				t.Errorf("up: %d of %d calls failed, want at most 2 %%", failed, calls)
			}
			before := c.attempts.Load()
			down := time.AfterFunc(time.Second, b.kill)
			calls, failed = c.phase(t, 5*time.Second)
			down.Stop()
			if attempts := c.attempts.Load() - before; failed == 0 || attempts*10 > calls*12 {
				t.Errorf("killed: %d attempts of %d calls, %d failed, want at most 1.2 attempts per call", attempts, calls, failed)
			}
			b.start(t)
			c.phase(t, 2*time.Second) // gRPC connects again after a while
			calls, failed = c.phase(t, 12*time.Second)
			if failed*20 > calls {
				t.Errorf("back: %d of %d calls failed, want at most 5 %%", failed, calls)
			}
			t.Logf("%d attempts, %+v", c.attempts.Load(), c.stats(t))
		})
	}
}

// phase makes calls, and compares all totals.
func (c *client) phase(t *testing.T, length time.Duration) (calls, failed uint64) {
	t.Helper()
	calls, failed = c.run(length)
	c.calls += calls
	c.failed += failed
	s := c.stats(t)
	ended, attempts := uint64(0), uint64(0)
	for n, calls := range s.Calls {
		ended += calls
		attempts += uint64(n) * calls
	}
	equal(t, "calls", ended, c.calls)
	equal(t, "attempts", attempts, c.attempts.Load())
	equal(t, "retries", s.Sent, attempts-ended)
	equal(t, "denials and failed calls", s.Denied.Sum(), c.failed)
	if requests := c.backend.requests.Load(); requests > attempts || requests < ended-c.failed {
		t.Errorf("the backend got %d requests of %d calls, %d failed, with %d attempts", requests, ended, c.failed, attempts)
	}
	return calls, failed
}

// stats returns the Stats of the only Retrier.
func (c *client) stats(t *testing.T) retry.Stats {
	t.Helper()
	all := slices.Collect(c.retriers().All())
	if len(all) != 1 {
		t.Fatalf("got %d Retriers, want 1", len(all))
	}
	return all[0].Stats()
}

func equal(t *testing.T, what string, got, want uint64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %d, want %d", what, got, want)
	}
}
