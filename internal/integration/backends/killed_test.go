package backends

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

const retryRate = 200 // calls per second

// client makes calls that are retried, and counts what it sends.
type client struct {
	attempts, answers atomic.Uint64 // below the retries: sent, and answered by the backend
	retriers          func() *retry.Group
	run               func(length time.Duration) (calls, failed uint64)
}

// httpClient returns a client in which vegeta makes the calls.
func httpClient(b *backend) *client {
	cl := &client{}
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		cl.attempts.Add(1)
		response, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			cl.answers.Add(1)
		}
		return response, err
	})
	transport := throttle.Must(httpthrottle.NewTransport(base, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backend", Mode: throttle.ModeOff}, Retry: &retry.Config{},
	}))
	cl.retriers = transport.Retriers
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: "http://" + b.address})
	cl.run = func(length time.Duration) (calls, failed uint64) {
		attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: transport}))
		for r := range attacker.Attack(target, vegeta.Rate{Freq: retryRate, Per: time.Second}, length, "retries") {
			calls++
			if r.Code != http.StatusOK {
				failed++
			}
		}
		return calls, failed
	}
	return cl
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// grpcClient returns a client whose calls are repeatable.
func grpcClient(t *testing.T, b *backend) *client {
	t.Helper()
	cl := &client{}
	throttles := throttle.Must(grpcthrottle.NewClient(grpcthrottle.ClientConfig{
		Throttle: throttle.Config{Name: "backend", Mode: throttle.ModeOff}, Retry: &retry.Config{},
		Repeatable: func(context.Context, grpcthrottle.RPC) bool { return true },
	}))
	cl.retriers = throttles.Retriers
	counting := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		cl.attempts.Add(1)
		err := invoker(ctx, method, req, reply, cc, opts...)
		if err == nil || strings.HasSuffix(err.Error(), "busy") {
			cl.answers.Add(1)
		}
		return err
	})
	options := append(throttles.DialOptions(), counting, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:///"+b.address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	health := grpc_health_v1.NewHealthClient(conn)
	cl.run = func(length time.Duration) (calls, failed uint64) {
		var wg sync.WaitGroup
		var failures atomic.Uint64
		tick := time.NewTicker(time.Second / retryRate)
		defer tick.Stop()
		for end := time.Now().Add(length); time.Now().Before(end); <-tick.C {
			calls++
			wg.Go(func() {
				if _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
					failures.Add(1)
				}
			})
		}
		wg.Wait()
		return calls, failures.Load()
	}
	return cl
}

// TestBackendIsKilledAndComesBack compares the totals of client and server. The tests of otelthrottle compare those of the metrics.
func TestBackendIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t, protocol)
			var cl *client
			if protocol == "grpc" {
				cl = grpcClient(t, b)
			} else {
				cl = httpClient(b)
			}
			w := &witness{client: cl, backend: b}

			calls, failed := w.phase(t, 3*time.Second, true)
			if failed*50 > calls {
				t.Errorf("up: %d of %d calls failed, want at most 2 %%", failed, calls)
			}
			before := cl.attempts.Load()
			down := time.AfterFunc(time.Second, func() { b.process.Kill(t) })
			calls, failed = w.phase(t, 5*time.Second, false)
			down.Stop()
			if attempts := cl.attempts.Load() - before; failed == 0 || attempts*10 > calls*12 {
				t.Errorf("killed: %d attempts of %d calls, %d failed, want at most 1.2 attempts per call", attempts, calls, failed)
			}
			b.start(t)
			w.phase(t, 2*time.Second, false) // gRPC connects again after a while
			calls, failed = w.phase(t, 12*time.Second, true)
			if failed*20 > calls {
				t.Errorf("back: %d of %d calls failed, want at most 5 %%", failed, calls)
			}
			t.Logf("%d attempts, %+v", cl.attempts.Load(), w.stats(t))
		})
	}
}

// witness compares the totals after each phase.
type witness struct {
	client        *client
	backend       *backend
	calls, failed uint64
}

// phase makes calls, and compares all totals. If the backend was up meanwhile, every attempt arrived.
func (w *witness) phase(t *testing.T, length time.Duration, up bool) (calls, failed uint64) {
	t.Helper()
	requestsBefore, retriesBefore := w.backend.arrivals(t)
	attemptsBefore, answersBefore, sentBefore := w.client.attempts.Load(), w.client.answers.Load(), uint64(0)
	if w.calls > 0 {
		sentBefore = w.stats(t).Sent
	}
	calls, failed = w.client.run(length)
	w.calls += calls
	w.failed += failed
	s := w.stats(t)
	ended, attempts := uint64(0), uint64(0)
	for n, c := range s.Calls {
		ended += c
		attempts += uint64(n) * c
	}
	equal(t, "calls", ended, w.calls)
	equal(t, "attempts", attempts, w.client.attempts.Load())
	equal(t, "retries", s.Sent, attempts-ended)
	equal(t, "denials and failed calls", s.Denied.Sum(), w.failed)

	requests, retries := w.backend.arrivals(t)
	requests, retries = requests-requestsBefore, retries-retriesBefore
	sent, answers := w.client.attempts.Load()-attemptsBefore, w.client.answers.Load()-answersBefore
	if requests > sent || requests < answers || retries > s.Sent-sentBefore {
		t.Errorf("the backend got %d requests, %d of them retries; the client sent %d, %d of them retries, and got %d answers",
			requests, retries, sent, s.Sent-sentBefore, answers)
	}
	if up && answers == sent { // gRPC may still be connecting
		equal(t, "arrivals", requests, sent)
		equal(t, "arrivals of retries", retries, s.Sent-sentBefore)
	}
	return calls, failed
}

// stats returns the Stats of the only Retrier.
func (w *witness) stats(t *testing.T) retry.Stats {
	t.Helper()
	all := slices.Collect(w.client.retriers().All())
	if len(all) != 1 {
		t.Fatalf("got %d Retriers, want 1", len(all))
	}
	return all[0].Stats()
}
