package backends

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
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
	requests, retries atomic.Uint64 // retries are requests that are marked so
}

func (b *backend) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", cmp.Or(b.address, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	b.address = listener.Addr().String()
	hooks := retry.Hooks{Arrived: func(context.Context, retry.ArrivalEvent) { b.retries.Add(1) }}
	if b.protocol == "grpc" {
		throttles := throttle.Must(grpcthrottle.NewServer(grpcthrottle.ServerConfig{
			Throttle: off(), RetryHooks: hooks,
			Exempt: func(context.Context, grpcthrottle.RPC) bool { return false }, // health checks are the calls here
		}))
		server := grpc.NewServer(throttles.ServerOptions()...)
		grpc_health_v1.RegisterHealthServer(server, b)
		go func() { _ = server.Serve(listener) }()
		b.kill = server.Stop
	} else {
		serve := httpthrottle.Middleware(throttle.Must(throttle.New(off())), httpthrottle.MiddlewareConfig{RetryHooks: hooks})
		server := &http.Server{Handler: serve(b), ReadHeaderTimeout: 10 * time.Second}
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

// Check answers a call of gRPC.
func (b *backend) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if b.requests.Add(1)%oneIn == 0 {
		return nil, status.Error(codes.Unavailable, "busy")
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// client makes calls that are retried, and counts what it sends.
type client struct {
	backend           *backend
	attempts, answers atomic.Uint64 // below the retries: sent, and answered by the backend
	retriers          func() *retry.Group
	call              func() error
	calls, failed     uint64
}

func (c *client) useHTTP() {
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		c.attempts.Add(1)
		response, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			c.answers.Add(1)
		}
		return response, err
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
		err := invoker(ctx, method, req, reply, cc, opts...)
		if err == nil || strings.HasSuffix(err.Error(), "busy") {
			c.answers.Add(1)
		}
		return err
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

// TestBackendIsKilledAndComesBack compares the totals of client and server. The tests of otelthrottle compare those of the metrics.
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
			calls, failed := c.phase(t, 3*time.Second, true)
			if failed*50 > calls {
				t.Errorf("up: %d of %d calls failed, want at most 2 %%", failed, calls)
			}
			before := c.attempts.Load()
			down := time.AfterFunc(time.Second, b.kill)
			calls, failed = c.phase(t, 5*time.Second, false)
			down.Stop()
			if attempts := c.attempts.Load() - before; failed == 0 || attempts*10 > calls*12 {
				t.Errorf("killed: %d attempts of %d calls, %d failed, want at most 1.2 attempts per call", attempts, calls, failed)
			}
			b.start(t)
			c.phase(t, 2*time.Second, false) // gRPC connects again after a while
			calls, failed = c.phase(t, 12*time.Second, true)
			if failed*20 > calls {
				t.Errorf("back: %d of %d calls failed, want at most 5 %%", failed, calls)
			}
			t.Logf("%d attempts, %+v", c.attempts.Load(), c.stats(t))
		})
	}
}

// phase makes calls, and compares all totals. If the backend was up meanwhile, every attempt arrived.
func (c *client) phase(t *testing.T, length time.Duration, up bool) (calls, failed uint64) {
	t.Helper()
	requests, retries := c.backend.requests.Load(), c.backend.retries.Load()
	sent, answers, sentRetries := c.attempts.Load(), c.answers.Load(), uint64(0)
	if c.calls > 0 {
		sentRetries = c.stats(t).Sent
	}
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

	requests, retries = c.backend.requests.Load()-requests, c.backend.retries.Load()-retries
	sent, answers, sentRetries = c.attempts.Load()-sent, c.answers.Load()-answers, s.Sent-sentRetries
	if requests > sent || requests < answers || retries > sentRetries {
		t.Errorf("the backend got %d requests, %d of them retries; the client sent %d, %d of them retries, and got %d answers",
			requests, retries, sent, sentRetries, answers)
	}
	if up && answers == sent { // gRPC may still be connecting
		equal(t, "arrivals", requests, sent)
		equal(t, "arrivals of retries", retries, sentRetries)
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
