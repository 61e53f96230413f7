package httpthrottle_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// fullness returns how many calls of a throttle were rejected, and how many of them by a full backend.
func fullness(th *throttle.Throttle) string {
	var rejected, full uint64
	for _, p := range th.Stats().Priorities {
		rejected += p.Ended.Outcome(throttle.Rejected)
		full += p.Overloaded
	}
	return fmt.Sprintf("%d rejected, %d full", rejected, full)
}

// What each answer says, to the transport of a client and to the middleware around the handler.
func TestStatusError_overloaded(t *testing.T) {
	soon := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		status     int
		retryAfter string
		want       string
	}{
		{http.StatusTooManyRequests, "", "1 rejected, 1 full"},
		{http.StatusTooManyRequests, "7", "1 rejected, 1 full"},
		{http.StatusBadGateway, "", "1 rejected, 0 full"},
		{http.StatusBadGateway, "7", "1 rejected, 1 full"},
		{http.StatusServiceUnavailable, "", "1 rejected, 0 full"},
		{http.StatusServiceUnavailable, "7", "1 rejected, 1 full"},
		{http.StatusServiceUnavailable, soon, "1 rejected, 1 full"},
		{http.StatusServiceUnavailable, past, "1 rejected, 0 full"},
		{http.StatusServiceUnavailable, "0", "1 rejected, 0 full"},
		{http.StatusServiceUnavailable, "soon", "1 rejected, 0 full"},
		{http.StatusGatewayTimeout, "", "1 rejected, 0 full"},
		{http.StatusGatewayTimeout, "7", "1 rejected, 1 full"},
		{http.StatusInternalServerError, "7", "0 rejected, 0 full"},
		{http.StatusNotFound, "7", "0 rejected, 0 full"},
		{http.StatusOK, "7", "0 rejected, 0 full"},
	} {
		handler := func(w http.ResponseWriter, _ *http.Request) {
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			w.WriteHeader(c.status)
		}
		what := fmt.Sprintf("%d, Retry-After %q", c.status, c.retryAfter)
		th := newThrottle(t, throttle.Config{})
		response := served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), handler).Result()
		equal(t, what+", server", fullness(th), c.want)
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) { return response, nil }), httpthrottle.TransportConfig{})
		read(t, transport, get(t.Context()))
		equal(t, what+", client", fullness(throttleOf(t, transport, host)), c.want)
	}
	transport := newTransport(t, fails(errors.New("connection refused")), httpthrottle.TransportConfig{})
	_, err := transport.RoundTrip(get(t.Context()))
	equal(t, "refused: "+fmt.Sprint(err), fullness(throttleOf(t, transport, host)), "1 rejected, 0 full")
}

// A client of a middleware that sheds knows that the server is full, unless its Problem removes the delay.
func TestMiddleware_shedIsOverloaded(t *testing.T) {
	without := func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.Header().Del("Retry-After")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for name, c := range map[string]struct {
		config httpthrottle.MiddlewareConfig
		want   string
	}{
		"default":             {httpthrottle.MiddlewareConfig{}, "1 rejected, 1 full"},
		"without Retry-After": {httpthrottle.MiddlewareConfig{Problem: without}, "1 rejected, 0 full"},
	} {
		th := shedding(t, throttle.Config{})
		server := httptest.NewServer(httpthrottle.Middleware(th, c.config)(never(t)))
		transport := newTransport(t, http.DefaultTransport, httpthrottle.TransportConfig{Key: func(*http.Request) string { return host }})
		r := get(t.Context())
		r.URL.Host = server.Listener.Addr().String()
		read(t, transport, r)
		equal(t, name, fullness(throttleOf(t, transport, host)), c.want)
		server.Close()
	}
}

// An answer that repeats the failure of a dependency is Ignored, whatever the dependency said.
func TestWriteError_overloaded(t *testing.T) {
	for _, err := range []error{faults.ResourceExhausted(), faults.Unavailable(time.Second), throttle.MarkOverloaded(errors.New("full"))} {
		th := newThrottle(t, throttle.Config{})
		served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
			equal(t, "answered", httpthrottle.WriteError(w, r, err), true)
		})
		equal(t, fmt.Sprintf("%T", err), fullness(th), "0 rejected, 0 full")
	}
}

// A handler that knows that this server is full says so with Tell.
func TestMiddleware_tellOverloaded(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
		callTell(w, throttle.MarkOverloaded(errors.New("no slot")))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	equal(t, "rejections", fullness(th), "1 rejected, 1 full")
}
