package httpthrottle_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

func TestStatusError(t *testing.T) {
	want := map[int]string{
		400: "bad accepted", 401: "authentication accepted", 403: "permission accepted", 404: "missing accepted", 409: "conflict accepted",
		410: "missing accepted", 412: "precondition accepted", 428: "precondition accepted", 429: "quota rejected", 501: "unimplemented accepted",
		502: "availability rejected", 503: "availability rejected", 504: "timeout rejected",
	}
	for status := range 1000 {
		err := httpthrottle.StatusError(&http.Response{StatusCode: status})
		if status < 400 {
			equal(t, strconv.Itoa(status), err, nil)
			continue
		}
		got := fmt.Sprint(throttle.FaultOf(err), " ", throttle.DefaultClassify(t.Context(), err))
		equal(t, strconv.Itoa(status), got, cmp.Or(want[status], "other accepted"))
		delayed := httpthrottle.StatusError(&http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"7"}}})
		equal(t, fmt.Sprint(status, ": has a delay"), faults.IsUnavailable(delayed), strings.HasSuffix(got, "rejected"))
		equal(t, fmt.Sprint(status, ": fault with a delay"), throttle.FaultOf(delayed), throttle.FaultOf(err))
		var response *httpthrottle.ResponseError
		if !errors.As(err, &response) || response.StatusCode != status {
			t.Errorf("%d: got no ResponseError of it in %v", status, err)
		}
	}
	equal(t, "no response", httpthrottle.StatusError(nil), nil)
	equal(t, "text", httpthrottle.StatusCodeError(503).Error(), "httpthrottle: 503 Service Unavailable")
	equal(t, "text", httpthrottle.StatusCodeError(599).Error(), "httpthrottle: 599 (unknown status)")
}

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
