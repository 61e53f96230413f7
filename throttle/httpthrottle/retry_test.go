package httpthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// often is a retry.Config whose budget never runs out and whose delays are short.
func often() *retry.Config {
	return &retry.Config{
		Budget: retry.Budget{Share: 1, Reserve: 1e6}, Delay: retry.Delay{Initial: time.Millisecond},
		Rand: func() float64 { return 0 },
	}
}

// retrying returns a transport that sheds nothing and retries.
func retrying(t *testing.T, base http.RoundTripper, c httpthrottle.TransportConfig) *httpthrottle.Transport {
	t.Helper()
	if c.Retry == nil {
		c.Retry = often()
	}
	c.Throttle.Name, c.Throttle.Rand = "backends", func() float64 { return 1 }
	transport, err := httpthrottle.NewTransport(base, c)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

// statsOf returns the statistics of the only Retrier.
func statsOf(t *testing.T, transport *httpthrottle.Transport) retry.Stats {
	t.Helper()
	all := slices.Collect(transport.Retriers().All())
	if len(all) != 1 {
		t.Fatalf("got %d Retriers want 1", len(all))
	}
	return all[0].Stats()
}

// tracing is a body that records that it was closed, and fails if it is read afterwards.
type tracing struct {
	io.Reader
	closed atomic.Bool
}

func (b *tracing) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errors.New("read after Close")
	}
	return b.Reader.Read(p)
}

func (b *tracing) Close() error {
	b.closed.Store(true)
	return nil
}

// backend is a base that answers with the statuses in order, and then with the last one.
type backend struct {
	statuses []int // 0 is a refused connection
	header   http.Header
	requests []*http.Request
	bodies   []*tracing // of responses
}

func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests = append(b.requests, r)
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	status := b.statuses[min(len(b.requests), len(b.statuses))-1]
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	body := &tracing{Reader: strings.NewReader(fmt.Sprintf("answer %d", len(b.requests)))}
	b.bodies = append(b.bodies, body)
	return &http.Response{StatusCode: status, Header: b.header.Clone(), Body: body, Request: r, ContentLength: -1}, nil
}

func newRequest(t *testing.T, method string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://backend/", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRetry_OfEachStatus(t *testing.T) {
	for status, want := range map[int]int{
		0: 3, 200: 1, 301: 1, 404: 1, 429: 3, 500: 1, 502: 3, 503: 3, 504: 3,
	} {
		synctest.Test(t, func(t *testing.T) {
			base := &backend{statuses: []int{status}}
			transport := retrying(t, base, httpthrottle.TransportConfig{})
			r := newRequest(t, http.MethodGet, http.NoBody)
			response, err := transport.RoundTrip(r)
			if len(base.requests) != want || (err != nil) != (status == 0) {
				t.Fatalf("%d: got %d attempts, error %v want %d", status, len(base.requests), err, want)
			}
			if s := statsOf(t, transport); s.Sent != uint64(want-1) || s.Calls[want] != 1 {
				t.Errorf("%d: got %+v", status, s)
			}
			if status == 0 {
				return
			}
			text, err := io.ReadAll(response.Body)
			if string(text) != fmt.Sprintf("answer %d", want) || err != nil || response.Request != r || response.StatusCode != status {
				t.Errorf("%d: got %q, %v, request %v want the last answer, unchanged", status, text, err, response.Request)
			}
			_ = response.Body.Close()
			for i, b := range base.bodies {
				if !b.closed.Load() {
					t.Errorf("%d: the body of response %d is not closed", status, i+1)
				}
			}
			for _, th := range transport.Group().All() {
				for _, p := range th.Stats().Priorities {
					if p.InFlight != 0 {
						t.Errorf("%d: %d calls of %v are in flight", status, p.InFlight, p.Priority)
					}
				}
			}
		})
	}
}

func TestRetry_MarksAttemptsAndLowersTheirPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &backend{statuses: []int{503, 503, 200}}
		transport := retrying(t, base, httpthrottle.TransportConfig{Send: func(*http.Request) bool { return true }})
		r := newRequest(t, http.MethodGet, nil)
		r.Header.Set("X-Own", "1")
		response, err := transport.RoundTrip(r.WithContext(throttle.WithPriority(t.Context(), throttle.Important)))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("got %v, %v", response, err)
		}
		for i, want := range []struct{ attempt, priority string }{{"", "important"}, {"2", "medium"}, {"3", "medium"}} {
			h := base.requests[i].Header
			if h.Get(httpthrottle.AttemptHeader) != want.attempt || h.Get(httpthrottle.PriorityHeader) != want.priority || h.Get("X-Own") != "1" {
				t.Errorf("attempt %d: got header %v want %+v", i+1, h, want)
			}
		}
		if len(r.Header) != 1 {
			t.Errorf("the header of the caller has changed: %v", r.Header)
		}
		th := throttle.Must(transport.Group().Get("backend")).Stats().Priorities
		if th[throttle.Important].Admitted != 1 || th[throttle.Medium].Admitted != 2 {
			t.Errorf("admitted %+v want one important and two medium attempts", th)
		}
	})
}

func TestRetry_ObeysRetryAfter(t *testing.T) {
	for header, want := range map[string]struct {
		attempts int
		after    time.Duration
	}{"2": {3, 4 * time.Second}, "0": {3, 0}, "3600": {1, 0}, "soon": {3, 0}, "-1": {3, 0}} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			base := &backend{statuses: []int{503}, header: http.Header{"Retry-After": {header}}}
			response, err := retrying(t, base, httpthrottle.TransportConfig{}).RoundTrip(newRequest(t, http.MethodGet, nil))
			if err != nil || len(base.requests) != want.attempts || time.Since(begun) != want.after {
				t.Errorf("%q: got %d attempts after %v, error %v want %+v", header, len(base.requests), time.Since(begun), err, want)
			}
			_ = response.Body.Close()
		})
	}
}

func TestRetry_KeepsTheResponseIfNoRetryIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*http.Request, context.CancelFunc){
			"cancelled while it waits": func(_ *http.Request, cancel context.CancelFunc) { time.AfterFunc(time.Second, cancel) },
			"the body cannot be read again": func(r *http.Request, _ context.CancelFunc) {
				r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			base := &backend{statuses: []int{503}, header: http.Header{"Retry-After": {"5"}}}
			transport := retrying(t, base, httpthrottle.TransportConfig{})
			r := newRequest(t, http.MethodPut, strings.NewReader("text")).WithContext(ctx)
			change(r, cancel)
			response, err := transport.RoundTrip(r)
			if err != nil || len(base.requests) != 1 {
				t.Fatalf("%s: got %v, %d attempts want the response of the first", name, err, len(base.requests))
			}
			if text, err := io.ReadAll(response.Body); string(text) != "answer 1" || err != nil {
				t.Errorf("%s: got %q, %v want the whole answer", name, text, err)
			}
			_ = response.Body.Close()
			if s := statsOf(t, transport); s.Sent != 0 || s.Denied.Sum() != 1 || s.Calls[1] != 1 {
				t.Errorf("%s: got %+v", name, s)
			}
			cancel()
		}
	})
}

func TestRetry_AShedIsNotRetried(t *testing.T) {
	base := &backend{statuses: []int{503}}
	draw := 1.0
	transport, err := httpthrottle.NewTransport(base, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backends", Rand: func() float64 { return draw }}, Retry: often(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		_, _ = transport.RoundTrip(newRequest(t, http.MethodGet, nil))
	}
	draw = 0
	body := &tracing{Reader: strings.NewReader("text")}
	sent := len(base.requests)
	for { // until the throttle has a new decision
		if _, err = transport.RoundTrip(newRequest(t, http.MethodPut, body)); errors.Is(err, throttle.ErrShed) {
			break
		}
		sent = len(base.requests)
		body = &tracing{Reader: strings.NewReader("text")}
	}
	if s := statsOf(t, transport); len(base.requests) != sent || s.Calls[0] != 1 || !body.closed.Load() {
		t.Errorf("got %d requests, %+v want none for a shed call, and its body closed", len(base.requests)-sent, s)
	}
}

// TestRetry_DoesNotWaitForAStream: a rejected response whose end is not known is closed, not read.
func TestRetry_DoesNotWaitForAStream(t *testing.T) {
	calls := 0
	transport := retrying(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if calls++; calls > 1 {
			return answers(200, "text")(r)
		}
		response, err := answers(503, "")(r)
		response.ContentLength, response.Body = -1, io.NopCloser(unread{t})
		return response, err
	}), httpthrottle.TransportConfig{})
	equal(t, "body", read(t, transport, get(t.Context())), "text")
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a rejected stream was read")
	return 0, io.EOF
}

// Each server handles what a Transport sends: the number of the attempt, and the priority.
func TestRetry_Middleware(t *testing.T) {
	trusted := throttle.Trust{Peer: func(context.Context) bool { return true }}
	for _, tt := range []struct {
		name     string
		config   httpthrottle.MiddlewareConfig
		attempt  []string
		priority string
		number   int
		want     throttle.Priority
	}{
		{"first", httpthrottle.MiddlewareConfig{LowerRetries: true}, nil, "", 1, throttle.Medium},
		{"second", httpthrottle.MiddlewareConfig{}, []string{"2"}, "", 2, throttle.Medium},
		{"lowered", httpthrottle.MiddlewareConfig{LowerRetries: true}, []string{"2"}, "", 2, throttle.Low},
		{"trusted", httpthrottle.MiddlewareConfig{LowerRetries: true, Trust: trusted}, []string{"2"}, "high", 2, throttle.High},
		{"not valid", httpthrottle.MiddlewareConfig{LowerRetries: true}, []string{"+2"}, "", 1, throttle.Medium},
		{"twice", httpthrottle.MiddlewareConfig{LowerRetries: true}, []string{"2", "3"}, "", 1, throttle.Medium},
	} {
		var arrived []string
		tt.config.RetryHooks = retry.Hooks{Arrived: func(_ context.Context, e retry.ArrivalEvent) { arrived = append(arrived, e.String()) }}
		th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
		r := incoming(t.Context())
		r.Header[httpthrottle.AttemptHeader] = tt.attempt
		if tt.priority != "" {
			r.Header.Set(httpthrottle.PriorityHeader, tt.priority)
		}
		served(th, tt.config, r, func(_ http.ResponseWriter, r *http.Request) {
			a := retry.FromContext(r.Context())
			p, _ := throttle.ClampPriority(throttle.PriorityFromContext(r.Context(), throttle.High), th.Priorities())
			if a.Number != tt.number || p != tt.want || (a.Throttle == th) != (tt.number > 1) {
				t.Errorf("%s: the handler has %+v, %v want attempt %d, %v", tt.name, a, p, tt.number, tt.want)
			}
		})
		if n := th.Stats().Priorities[tt.want].Admitted; n != 1 {
			t.Errorf("%s: %d calls of %v admitted want 1", tt.name, n, tt.want)
		}
		if (len(arrived) == 1) != (tt.number > 1) {
			t.Errorf("%s: arrivals %q", tt.name, arrived)
		}
	}
}

func TestRetry_Repeatable(t *testing.T) {
	keyed := http.Header{"Idempotency-Key": {"1"}}
	all := func(*http.Request) bool { return true }
	for _, tt := range []struct {
		method     string
		header     http.Header
		repeatable func(*http.Request) bool
		body       io.Reader
		trailer    http.Header
		want       int
	}{
		{method: http.MethodGet, want: 2},
		{method: "", want: 2},
		{method: http.MethodHead, want: 2},
		{method: http.MethodPut, body: strings.NewReader("text"), want: 2},
		{method: http.MethodDelete, want: 2},
		{method: http.MethodPost, want: 1},
		{method: http.MethodPatch, want: 1},
		{method: "PROPFIND", want: 1},
		{method: http.MethodPost, header: keyed, body: bytes.NewBufferString("text"), want: 2},
		{method: http.MethodPost, header: http.Header{"X-Idempotency-Key": {"1"}}, want: 2},
		{method: http.MethodPost, repeatable: all, body: bytes.NewReader([]byte("text")), want: 2},
		{method: http.MethodPut, repeatable: func(*http.Request) bool { return false }, want: 1},
		{method: http.MethodPut, repeatable: all, body: io.MultiReader(strings.NewReader("text")), want: 1}, // no GetBody
		{method: http.MethodPut, body: strings.NewReader("text"), trailer: http.Header{"Sum": nil}, want: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := &backend{statuses: []int{503, 200}}
			transport := retrying(t, base, httpthrottle.TransportConfig{Repeatable: tt.repeatable})
			r := newRequest(t, tt.method, tt.body)
			r.Method, r.Trailer = tt.method, tt.trailer
			for name, values := range tt.header {
				r.Header[name] = values
			}
			response, err := transport.RoundTrip(r)
			if err != nil || len(base.requests) != tt.want {
				t.Errorf("%+v: got %d attempts, error %v want %d", tt, len(base.requests), err, tt.want)
			}
			if s := statsOf(t, transport); (s.Denied.Count(retry.ReasonOnce) == 1) != (tt.want == 1) {
				t.Errorf("%+v: got %+v", tt, s)
			}
			_ = response.Body.Close()
		})
	}
}
