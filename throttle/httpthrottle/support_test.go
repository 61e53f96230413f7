package httpthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func served(th *throttle.Throttle, c httpthrottle.MiddlewareConfig, r *http.Request, handler http.HandlerFunc) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	httpthrottle.Middleware(th, c)(handler).ServeHTTP(w, r)
	return w
}

func incoming(ctx context.Context) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
}

func never(t *testing.T) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) {
		t.Helper()
		t.Error("got the request served, want it shed")
	}
}

type tracked struct {
	http.Handler
	requests *sync.WaitGroup
}

func (h tracked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	defer h.requests.Done()
	h.Handler.ServeHTTP(w, r)
}

type plain struct{ http.ResponseWriter }

type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func serveOn(t *testing.T, server http.ResponseWriter, th *throttle.Throttle, handler http.HandlerFunc) {
	t.Helper()
	httpthrottle.Middleware(th, httpthrottle.MiddlewareConfig{})(handler).ServeHTTP(server, incoming(t.Context()))
}

// callTell calls Tell, as a handler does that does not import this package.
func callTell(w http.ResponseWriter, err error) bool {
	for {
		if t, ok := w.(interface{ Tell(error) }); ok {
			t.Tell(err)
			return true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
}

// refusal is the error of a bucket or a breaker for a call that was not made.
type refusal struct{ after time.Duration }

func (refusal) Error() string               { return "not now" }
func (refusal) Is(target error) bool        { return target == throttle.ErrShed }
func (r refusal) RetryAfter() time.Duration { return r.after }

func ask(t testing.TB, transport http.RoundTripper, r *http.Request) *http.Response {
	t.Helper()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func read(t testing.TB, transport http.RoundTripper, r *http.Request) string {
	t.Helper()
	response := ask(t, transport, r)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// host is where most requests go, and the key of its throttle.
const host = "backend.example"

var errPlain = errors.New("something went wrong")

// unlucky draws shed whatever may be shed, lucky ones let everything through.
func unlucky() float64 { return 0 }

func lucky() float64 { return math.Nextafter(1, 0) }

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answers(status int, body string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
		}, nil
	}
}

func fails(err error) roundTrip {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func unwanted(t testing.TB) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		t.Helper()
		t.Error("got the request sent, want it kept")
		return nil, errPlain
	}
}

// newTransport returns a transport whose throttles are called backend unless c says otherwise.
func newTransport(t testing.TB, base http.RoundTripper, c httpthrottle.TransportConfig) *httpthrottle.Transport {
	t.Helper()
	if c.Throttle.Name == "" {
		c.Throttle.Name = "backend"
	}
	return throttle.Must(httpthrottle.NewTransport(base, c))
}

func throttleOf(t testing.TB, transport *httpthrottle.Transport, key string) *throttle.Throttle {
	t.Helper()
	th, err := transport.Group().Get(key)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func newThrottle(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	if c.Name == "" {
		c.Name = "server"
	}
	return throttle.Must(throttle.New(c))
}

func shedding(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Rand = unlucky
	th := newThrottle(t, c)
	overload(t, th)
	return th
}

// overload makes a throttle with unlucky draws shed.
func overload(t testing.TB, th *throttle.Throttle) {
	t.Helper()
	for p := throttle.High; p <= throttle.Low; p++ {
		var err error
		for n := 0; n < 1000 && !errors.Is(err, throttle.ErrShed); n++ {
			err = th.Do(context.Background(), p, func(context.Context) error { return faults.Unavailable(0) })
		}
		if !errors.Is(err, throttle.ErrShed) {
			t.Fatalf("got no call of %v priority shed after 1000 rejections, want one", p)
		}
	}
}

func get(ctx context.Context) *http.Request { return request(ctx, http.MethodGet, http.NoBody) }

func request(ctx context.Context, method string, body io.Reader) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+host+"/", body)
	if err != nil {
		panic(err)
	}
	return r
}

// books is what a throttle counted of all priorities, but for what it shed.
func books(th *throttle.Throttle) string {
	var words []string
	for _, p := range th.Stats().Priorities {
		for ended := range p.Ended.All() {
			words = append(words, fmt.Sprintf("%d %v %v/%v", ended.Calls, p.Priority, ended.Outcome, ended.Fault))
		}
		if p.InFlight != 0 {
			words = append(words, fmt.Sprintf("%d %v in flight", p.InFlight, p.Priority))
		}
	}
	return strings.Join(words, ", ")
}

func shed(th *throttle.Throttle) uint64 {
	var n uint64
	for _, p := range th.Stats().Priorities {
		n += p.Shed.Sum()
	}
	return n
}

func hookCalls(rec *throttletest.Recorder) string {
	return fmt.Sprintf("%d started, %d finished", rec.Count(throttletest.KindStarted), rec.Count(throttletest.KindFinished))
}

type trackedBody struct {
	io.Reader
	closed int
}

func (b *trackedBody) Close() error { b.closed++; return nil }

func panics(f func()) (what any) {
	defer func() { what = recover() }()
	f()
	return nil
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
