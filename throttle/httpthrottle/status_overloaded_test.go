package httpthrottle_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

func fullOf(th *throttle.Throttle) (full uint64) {
	for _, p := range th.Stats().Priorities {
		full += p.Overloaded
	}
	return full
}

func TestStatusError_overloaded(t *testing.T) {
	soon := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		status     int
		retryAfter string
		full       uint64
	}{
		{http.StatusTooManyRequests, "", 1},
		{http.StatusTooManyRequests, "7", 1},
		{http.StatusBadGateway, "", 0},
		{http.StatusBadGateway, "7", 1},
		{http.StatusServiceUnavailable, "", 0},
		{http.StatusServiceUnavailable, soon, 1},
		{http.StatusServiceUnavailable, past, 0},
		{http.StatusServiceUnavailable, "0", 0},
		{http.StatusServiceUnavailable, "soon", 0},
		{http.StatusGatewayTimeout, "", 0},
		{http.StatusGatewayTimeout, "7", 1},
		{http.StatusInternalServerError, "7", 0},
		{http.StatusOK, "7", 0},
	} {
		what := fmt.Sprintf("%d, Retry-After %q", c.status, c.retryAfter)
		th := newThrottle(t, throttle.Config{})
		response := served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			w.WriteHeader(c.status)
		}).Result()
		equal(t, what+", server", fullOf(th), c.full)
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) { return response, nil }), httpthrottle.TransportConfig{})
		read(t, transport, get(t.Context()))
		equal(t, what+", client", fullOf(throttleOf(t, transport, host)), c.full)
	}
}
