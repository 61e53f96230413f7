package httpthrottle_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

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
