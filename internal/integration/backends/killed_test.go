package backends

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

const (
	retryRate = 200 // calls per second
	oneIn     = 20  // calls for each that the backend rejects
)

// backend counts what arrives. It can be killed, which cuts its connections, and started again on its address.
type backend struct {
	address  string
	kill     func()
	requests atomic.Uint64
}

func (b *backend) start(t *testing.T) {
	t.Helper()
	listener := throttle.Must(net.Listen("tcp", cmp.Or(b.address, "127.0.0.1:0")))
	b.address = listener.Addr().String()
	server := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	b.kill = func() { _ = server.Close() }
	t.Cleanup(b.kill)
}

func (b *backend) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if b.requests.Add(1)%oneIn == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// client makes calls that are retried, and counts what it sends.
type client struct {
	backend       *backend
	transport     *httpthrottle.Transport
	attempts      atomic.Uint64 // below the retries
	calls, failed uint64
}

func newClient(b *backend) *client {
	c := &client{backend: b}
	c.transport = throttle.Must(httpthrottle.NewTransport(c, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backend", Mode: throttle.ModeOff}, Retry: &retry.Config{},
	}))
	return c
}

func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	c.attempts.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

func (c *client) call() error {
	response, err := (&http.Client{Transport: c.transport}).Get("http://" + c.backend.address)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
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
	b := &backend{}
	b.start(t)
	c := newClient(b)
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
	calls, failed = c.phase(t, 12*time.Second)
	if failed*20 > calls {
		t.Errorf("back: %d of %d calls failed, want at most 5 %%", failed, calls)
	}
	t.Logf("%d attempts, %+v", c.attempts.Load(), c.stats(t))
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
	all := slices.Collect(c.transport.Retriers().All())
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
